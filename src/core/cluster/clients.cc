#include "core/cluster/clients.h"

#include <algorithm>

#include "base/text.h"

namespace assay::core::cluster {
base::Status SubscriptionReplaced(const std::string& client) {
  return base::ReplacedError("a newer subscription of clientId " + base::Shown(client) +
                             " replaced this one");
}

void Clients::Register(const ClientRegistered& asked, const Stepping& step) {
  Answer answer;
  answer.call = asked.call;
  if (!settings_.job_roles.contains(asked.role)) {
    answer.verdict = Verdict::kDenied;
    answer.text = "role:" + base::Shown(asked.role) + " is not in whitelist";
  } else if (clients_.size() >= settings_.clients_max && idle_.empty()) {
    answer.verdict = Verdict::kLimitReached;
    answer.text = "client num limit, max client num is " + std::to_string(settings_.clients_max);
  } else if (streams_.size() >= settings_.subscriptions_max) {
    answer.verdict = Verdict::kLimitReached;
    answer.text =
        "subscription num limit, " + std::to_string(settings_.subscriptions_max) + " are open";
  } else {
    answer.text = "registration successful";
    // At the limit, drop the oldest idle id instead of refusing, so that a client that registers
    // endlessly does not lock out others.
    if (clients_.size() >= settings_.clients_max) ForgetOldest();
    clients_.emplace(asked.client, Client{asked.role, std::nullopt, step.now});
    idle_.emplace(step.now, asked.client);
  }
  step.Do(std::move(answer));
}

Clients::Admission Clients::Subscribe(const StreamOpened& opened) {
  const auto found = clients_.find(opened.client);
  if (found == clients_.end()) {
    return {base::NotFoundError("invalid clientId: " + base::Shown(opened.client) +
                                ", please register first"),
            std::nullopt};
  }
  Client& client = found->second;
  if (client.role != opened.role) {
    return {base::Status(base::Code::kDenied,
                         "invalid role: " + base::Shown(opened.role) + ", please check role first"),
            std::nullopt};
  }
  const std::optional<StreamId> replaced = client.stream;
  // If a client has two streams, the one that was opened later wins, regardless of the order in
  // which they arrive.
  if (replaced && *replaced > opened.stream) {
    return {SubscriptionReplaced(opened.client), std::nullopt};
  }
  if (!replaced && streams_.size() >= settings_.subscriptions_max) {
    return {base::ExhaustedError(std::to_string(settings_.subscriptions_max) +
                                 " subscriptions are open, which is the limit "
                                 "(--subscriptions-max); try again later"),
            std::nullopt};
  }
  if (replaced) {
    streams_.erase(*replaced);
  } else {
    idle_.erase({client.idle_since, opened.client});
  }
  client.stream = opened.stream;
  streams_.emplace(opened.stream, opened.client);
  return {base::Status::Ok(), replaced};
}

void Clients::StreamClosed(StreamId stream, const Stepping& step) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  Client& client = clients_.find(found->second)->second;
  client.stream.reset();
  client.idle_since = step.now;
  idle_.emplace(step.now, found->second);
  streams_.erase(found);
}

void Clients::Tick(const Stepping& step) {
  while (!idle_.empty() && idle_.begin()->first + settings_.client_kept <= step.now) {
    ForgetOldest();
  }
}

void Clients::ForgetOldest() {
  clients_.erase(idle_.begin()->second);
  idle_.erase(idle_.begin());
}

Ms Clients::NextDeadline(Ms none) const {
  return idle_.empty() ? none : std::min(none, idle_.begin()->first + settings_.client_kept);
}

}  // namespace assay::core::cluster
