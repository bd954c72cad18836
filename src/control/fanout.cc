#include "control/fanout.h"

#include <algorithm>
#include <string>
#include <utility>

namespace assay::control {
namespace {

// Exactly one message, then OK (docs/wire.md 9).
void SendResult(StreamPort* stream, core::RunId run, const Bytes& bytes) {
  stream->NameRun(run);
  (void)stream->Send(bytes);  // never full: it is the stream's first message
  stream->End(base::Status::Ok());
}

}  // namespace

void JobFanout::Handle(JobEntry&& entry) {
  std::visit([this](const auto& body) { On(body); }, entry);
}

void JobFanout::On(const AttachEntry& entry) {
  (entry.topic == core::Topic::kNotify ? notify_ : result_).push_back({entry.id, entry.stream});
  if (entry.topic == core::Topic::kNotify) entry.stream->Announce();
}

void JobFanout::On(const NotifyEntry& entry) {
  if (notify_.empty()) return;
  const Bytes bytes = encoder_.Notify(job_, *entry.ranks);
  const auto lags = [&](const Listener& listener) {
    if (listener.stream->Send(bytes)) return false;
    listener.stream->PostClosed();
    listener.stream->End(base::ExhaustedError(
        "jobId=" + job_ + " the client does not read notifications; subscribe again"));
    return true;
  };
  notify_.erase(std::remove_if(notify_.begin(), notify_.end(), lags), notify_.end());
}

void JobFanout::On(const ResultEntry& entry) {
  if (result_.empty()) return;
  const Bytes bytes = encoder_.Result(job_, *entry.message);
  for (const Listener& listener : result_) SendResult(listener.stream, entry.run, bytes);
  result_.clear();
}

void JobFanout::On(const EndEntry& entry) {
  for (std::vector<Listener>* listeners : {&notify_, &result_}) {
    const auto found = std::find_if(listeners->begin(), listeners->end(),
                                    [&](const Listener& l) { return l.id == entry.id; });
    if (found == listeners->end()) continue;
    StreamPort* const stream = found->stream;
    listeners->erase(found);
    stream->End(*entry.status);
    return;
  }
}

void JobFanout::On(const EndAllEntry& entry) {
  for (std::vector<Listener>* listeners : {&notify_, &result_}) {
    for (const Listener& listener : *listeners) listener.stream->End(*entry.status);
    listeners->clear();
  }
}

void DetachedFanout::Handle(DetachedEntry&& entry) {
  if (const auto* replay = std::get_if<ReplayEntry>(&entry)) {
    SendResult(replay->stream, replay->run, encoder_.Result(replay->job, *replay->message));
  } else if (const auto* end = std::get_if<EndDetachedEntry>(&entry)) {
    end->stream->End(*end->status);
  }
}

void LinkFanout::Handle(LinkEntry&& entry) {
  if (entry.message != nullptr) {
    entry.link->Deliver(*entry.message);
  } else {
    entry.link->End(*entry.status);
  }
}

Fanout::Fanout(const Encoder* encoder)
    : encoder_(*encoder),
      board_(std::make_shared<BoardFanout>(&pool_.ready(), encoder)),
      detached_(std::make_shared<DetachedFanout>(&pool_.ready(), encoder)) {
  for (std::size_t i = 0; i < kShards; ++i) {
    shards_.push_back(std::make_shared<LinkFanout>(&pool_.ready()));
  }
}

}  // namespace assay::control
