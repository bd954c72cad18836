#include "tests/simulation/followers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace assay::simulation {
namespace {

constexpr int kFollowers = 4;
constexpr int kJobs = 4;
constexpr core::Ms kPatience = 20'000;
constexpr std::size_t kRoom = 4;  // unread messages

}  // namespace

Followers::Followers(World* world, Streams* streams)
    : world_(*world), streams_(*streams), followers_(kFollowers) {
  for (std::size_t i = 0; i < followers_.size(); ++i) {
    followers_[i].role = i % 2 == 0 ? "CCAgent" : "FdAgent";
    followers_[i].topic = i % 2 == 0 ? core::Topic::kSignal : core::Topic::kSignalList;
  }
}

void Followers::Start() {
  for (std::size_t i = 0; i < followers_.size(); ++i) Act(i);
  Change();
}

void Followers::Heal() {
  for (Follower& follower : followers_) follower.paused_until = 0;
}

// --- The true history ----------------------------------------------------------------------------

Followers::State Followers::StateOf(const core::Signal& signal) {
  return {signal.deleted, signal.state, signal.created, signal.ended, *signal.hccl};
}
Followers::State Followers::StateOf(const core::Job& job) {
  return {false, job.state, job.created, job.ended, *job.hccl};
}
Followers::State Followers::StateOf(const core::DeletedJob& job) {
  return {true, job.state, job.created, job.deleted, *job.hccl};
}

void Followers::Differences(const core::Durable& durable, Truth* truth,
                            std::vector<Moment>* moments) {
  // A job's delete precedes its next apply.
  for (const auto& [id, job] : durable.deleted) {
    std::optional<State>& known = (*truth)[id][1];
    if (known && *known == StateOf(job)) continue;
    known = StateOf(job);
    (*truth)[id][0].reset();
    moments->emplace_back(id, *known);
  }
  for (const auto& [id, job] : durable.jobs) {
    std::optional<State>& known = (*truth)[id][0];
    if (known && *known == StateOf(job)) continue;
    known = StateOf(job);
    moments->emplace_back(id, *known);
  }
  for (auto& [id, states] : *truth) {
    if (states[0] && !durable.jobs.contains(id)) states[0].reset();
    if (states[1] && !durable.deleted.contains(id)) states[1].reset();
  }
}

void Followers::Append(const std::vector<Moment>& moments) {
  for (const auto& [job, state] : moments) history_[job].push_back(state);
}

void Followers::NoteForgotten(const core::Durable& durable) {
  for (const auto& [job, states] : history_) {
    if (durable.jobs.contains(job) || durable.deleted.contains(job)) {
      gone_.erase(job);
    } else {
      gone_.emplace(job, world_.now());
    }
  }
}

void Followers::Stepped(const core::Durable& durable) {
  Differences(durable, &stepped_, &not_yet_);
}

void Followers::Committed() {
  Append(not_yet_);
  not_yet_.clear();
  true_ = stepped_;
}

void Followers::Outage() {
  not_yet_.clear();
  stepped_ = true_;
}

void Followers::Loaded(const core::Durable& durable) {
  not_yet_.clear();
  std::vector<Moment> moments;
  Differences(durable, &true_, &moments);
  Append(moments);
  stepped_ = true_;
  NoteForgotten(durable);
}

// --- Actions of the followers --------------------------------------------------------------------

void Followers::Change() {
  if (world_.healed) return;
  world_.At(world_.Delay(4 * world_.faults.between), [this] { Change(); });
  // Sometimes a burst of 12 changes.
  for (std::int64_t i = world_.Chance(100) ? 12 : 1; i > 0; --i) {
    const std::string job = "followed" + std::to_string(world_.Below(kJobs));
    const core::Ms delay = world_.Delay(world_.faults.delay);
    const std::int64_t what = world_.Below(10);
    if (what < 4) {
      core::JobApplied applied;
      applied.call = world_.NextId();
      applied.spec.id = job;
      auto table = std::make_shared<rank_table::RankTable>();
      if (world_.Chance(700)) {
        table->nodes.push_back({"nowhere", {}});
        table->ranks.push_back({0, static_cast<std::int32_t>(world_.Below(4)), 0});
        applied.table_text = "table " + std::to_string(world_.Below(3));
      }
      applied.table = std::move(table);
      applied.hccl = std::make_shared<const std::string>("hccl of " + applied.table_text);
      world_.At(delay, [this, applied] { call(applied); });
    } else if (what < 9) {
      const auto state = static_cast<core::JobState>(world_.Below(4));
      world_.At(delay, [this, id = world_.NextId(), job, state] {
        call(core::JobStateSet{id, {}, job, state});
      });
    } else {
      world_.At(delay, [this, id = world_.NextId(), job] { call(core::JobDeleted{id, {}, job}); });
    }
  }
}

void Followers::Act(std::size_t index) {
  world_.At(world_.Delay(world_.faults.between), [this, index] { Act(index); });
  Follower& follower = followers_[index];
  if (!follower.attached) return Connect(&follower);
  if (!world_.healed) {
    if (world_.Chance(world_.faults.wander)) return Lose(&follower);
    if (world_.Chance(world_.faults.pause)) {
      follower.paused_until = world_.now() + world_.Delay(2 * 3'600'000);
    }
  }
  if (follower.paused_until <= world_.now()) Read(&follower);
}

void Followers::Connect(Follower* follower) {
  if (!reachable()) return;
  if (follower->stream && world_.now() < follower->opened_at + kPatience) return;
  const core::Ms delay = world_.Delay(world_.faults.delay);
  follower->opened_at = world_.now();
  if (follower->client.empty()) {
    follower->call = world_.NextId();
    world_.At(delay, [this, id = follower->call, role = follower->role] {
      call(core::ClientRegistered{id, {}, role, "client " + std::to_string(id)});
    });
    return;
  }
  // A follower whose stream was not attached within kPatience opens another one in its place.
  core::StreamOpened opened;
  opened.topic = follower->topic;
  opened.client = follower->client;
  opened.role = follower->role;
  const core::StreamId id = streams_.Open(std::move(opened), this);
  follower->stream = id;
  opened_.insert(id);
}

void Followers::Read(Follower* follower) {
  for (std::int64_t left = 1 + world_.Below(8); left > 0; --left) {
    if (follower->unread.empty()) {
      // The board fills a stream that has room at once: nothing is left there either.
      if (!follower->caught_up) follower->caught_up = world_.now();
      return;
    }
    SeeNext(follower);
    streams_.Read(*follower->stream);
    if (!follower->stream) return;  // it was ended
  }
}

void Followers::SeeNext(Follower* follower) {
  const std::vector<core::SignalPtr> message = std::move(follower->unread.front());
  follower->unread.pop_front();
  for (const core::SignalPtr& signal : message) See(follower, *signal);
}

void Followers::See(Follower* follower, const core::Signal& signal) {
  const std::string& job = signal.job.id;
  const std::vector<State>& history = history_[job];
  const auto [entry, first] = follower->seen.try_emplace(job);
  Seen& seen = entry->second;
  const std::size_t from = first || std::exchange(seen.again, false) ? seen.at : seen.at + 1;
  for (std::size_t at = from; at < history.size(); ++at) {
    if (history[at] != StateOf(signal)) continue;
    seen.at = at;
    return;
  }
  world_.Fail("a follower saw " + job + " " +
              (signal.deleted ? "deleted" : std::string(Name(signal.state))) +
              ", a state that the job does not have or that is out of order");
}

// The follower closes its stream, or finds it closed.
void Followers::Lose(Follower* follower) {
  if (!follower->stream) return;
  const core::StreamId id = *follower->stream;
  follower->stream.reset();
  follower->attached = false;
  follower->unread.clear();
  follower->paused_until = 0;
  for (auto& [job, seen] : follower->seen) seen.again = true;
  streams_.Close(id);
}

// --- What comes from the coordinator -------------------------------------------------------------

Followers::Follower* Followers::Of(core::StreamId stream) {
  for (Follower& follower : followers_) {
    if (follower.stream == stream) return &follower;
  }
  return nullptr;
}

void Followers::Announced(core::StreamId stream) {
  Follower* const follower = Of(stream);
  if (follower == nullptr) return;  // the follower has replaced this stream
  world_.Require(!follower->attached, "a follower was attached twice");
  follower->attached = true;
  follower->attached_at = world_.now();
  follower->caught_up.reset();
}

bool Followers::HasRoom(core::StreamId stream) {
  const Follower* const follower = Of(stream);
  return follower == nullptr || follower->unread.size() < kRoom;
}

void Followers::Received(core::StreamId stream, const Message& message) {
  Follower* const follower = Of(stream);
  if (follower == nullptr) return;
  world_.Require(follower->attached, "a follower got a signal before it was attached");
  if (world_.canary == Canary::kSwallowSignal && world_.Chance(50)) return;
  std::vector<core::SignalPtr> signals = message.signals;
  if (world_.canary == Canary::kSwallowDelete) {
    std::erase_if(signals, [](const core::SignalPtr& signal) { return signal->deleted; });
  }
  follower->unread.push_back(std::move(signals));
}

void Followers::Ended(core::StreamId stream, const base::Status& status) {
  Follower* const follower = Of(stream);
  if (follower == nullptr) return;
  // The end comes after the messages.
  while (!follower->unread.empty()) SeeNext(follower);
  if (status.code() == base::Code::kNotFound) follower->client.clear();
  Lose(follower);
}

bool Followers::Answered(const core::Answer& answer) {
  for (Follower& follower : followers_) {
    if (follower.call != answer.call) continue;
    world_.Require(answer.verdict == core::Verdict::kAccepted, "a follower's Register was refused");
    follower.client = "client " + std::to_string(answer.call);
    follower.call = 0;
    return true;
  }
  return false;
}

void Followers::Failed(core::CallId failed) {
  for (Follower& follower : followers_) {
    if (follower.call == failed) follower.call = 0;
  }
}

void Followers::HearForgotten(const core::ForgetDeleted& forgotten) {
  if (!true_[forgotten.job][0]) gone_.emplace(forgotten.job, world_.now());
}

void Followers::CoordinatorDied() {
  for (Follower& follower : followers_) {
    follower.call = 0;
    Lose(&follower);
  }
}

// --- Final checks --------------------------------------------------------------------------------

std::string Followers::Pending() {
  for (const Follower& follower : followers_) {
    if (!follower.attached) return "a follower is not subscribed";
    if (!follower.unread.empty()) return "a follower has not read everything";
  }
  return "";
}

void Followers::CheckAll() {
  for (const Follower& follower : followers_) {
    for (const auto& [job, history] : history_) {
      const auto seen = follower.seen.find(job);
      const bool present = true_[job][0].has_value();
      if (seen == follower.seen.end()) {
        world_.Require(!present, "a follower has never seen a present job");
        continue;
      }
      const State& last = history[seen->second.at];
      if (last == history.back()) continue;
      // The follower was away when the job was deleted, and the delete expired before it caught up.
      const auto gone = gone_.find(job);
      const bool excused = !present && gone != gone_.end() &&
                           history.back().ended <= follower.attached_at &&
                           gone->second <= follower.caught_up.value_or(world_.now());
      world_.Require(excused, "a follower has not seen the last state of a job");
    }
  }
}

}  // namespace assay::simulation
