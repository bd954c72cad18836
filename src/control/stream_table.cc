#include "control/stream_table.h"

#include <utility>

namespace assay::control {

// --- StreamTable ---

void StreamTable::Opened(core::StreamId id, StreamPort* stream, core::Topic topic) {
  Stream& entry = streams_[id];
  entry.stream = stream;
  entry.topic = topic;
}

bool StreamTable::ClosedEarly(core::StreamId id) const {
  const auto found = streams_.find(id);
  return found != streams_.end() && found->second.closed;
}

bool StreamTable::Closed(core::StreamId id) {
  Stream& entry = streams_[id];
  entry.closed = true;
  const bool tell = std::exchange(entry.told, false);
  ForgetIfOver(id, entry);
  return tell;
}

bool StreamTable::Done(core::StreamId id, bool close_posted) {
  Stream& entry = streams_[id];
  entry.done = true;
  entry.ended = true;
  entry.close_posted = close_posted;
  if (entry.job != nullptr) {
    if (--entry.job->second.streams == 0) jobs_.erase(jobs_.find(entry.job->first));
    entry.job = nullptr;
  }
  const bool tell = std::exchange(entry.told, false);
  ForgetIfOver(id, entry);
  return tell;
}

bool StreamTable::Ended(const Stream& stream) {
  if (stream.ended) return true;
  return stream.job != nullptr && stream.topic == core::Topic::kResult &&
         stream.results != stream.job->second.results;
}

void StreamTable::ForgetIfOver(core::StreamId id, const Stream& stream) {
  if (stream.done && (stream.closed || !stream.close_posted)) streams_.erase(id);
}

void StreamTable::Attach(const core::AttachStream& effect) {
  const auto found = streams_.find(effect.stream);
  if (found == streams_.end() || found->second.stream == nullptr || found->second.ended ||
      Attached(found->second)) {
    return;
  }
  Stream& entry = found->second;
  if (IsSignal(effect.topic)) {
    entry.on_board = true;
    fanout_->board().Post(AttachEntry{effect.stream, entry.stream, entry.topic});
    return;
  }
  const auto job = jobs_.try_emplace(effect.job).first;
  if (job->second.queue == nullptr) job->second.queue = fanout_->MakeJob(effect.job);
  ++job->second.streams;
  entry.job = &*job;
  entry.results = job->second.results;
  job->second.queue->Post(AttachEntry{effect.stream, entry.stream, entry.topic});
}

void StreamTable::Notify(const core::PublishNotify& effect) {
  const auto job = jobs_.find(effect.job);
  if (job != jobs_.end()) job->second.queue->Post(NotifyEntry{effect.ranks});
}

void StreamTable::Result(const core::PublishResult& effect) {
  const auto job = jobs_.find(effect.job);
  if (job == jobs_.end()) return;
  ++job->second.results;
  job->second.queue->Post(ResultEntry{effect.run, effect.message});
}

void StreamTable::Replay(const core::ReplayResult& effect) {
  const auto found = streams_.find(effect.stream);
  if (found == streams_.end() || found->second.stream == nullptr || found->second.ended ||
      Attached(found->second)) {
    return;
  }
  found->second.ended = true;
  fanout_->loose().Post(ReplayEntry{found->second.stream, effect.job, effect.run, effect.message});
}

void StreamTable::Signal(core::PublishSignal&& effect) {
  fanout_->board().Post(SignalEntry{std::move(effect.signal)});
}

void StreamTable::Forget(core::ForgetDeleted&& effect) {
  fanout_->board().Post(ForgetEntry{std::move(effect.job)});
}

void StreamTable::End(core::StreamId id, const base::Status& status) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  End(id, &found->second, std::make_shared<const base::Status>(status));
}

void StreamTable::End(core::StreamId id, Stream* stream,
                      const std::shared_ptr<const base::Status>& status) {
  if (stream->stream == nullptr || Ended(*stream)) return;
  stream->ended = true;
  if (stream->job != nullptr) {
    stream->job->second.queue->Post(EndEntry{id, status});
  } else if (stream->on_board) {
    fanout_->board().Post(EndEntry{id, status});
  } else {
    fanout_->loose().Post(EndLooseEntry{stream->stream, status});
  }
}

void StreamTable::EndAll(const base::Status& status) {
  const auto shared = std::make_shared<const base::Status>(status);
  for (auto& [id, stream] : streams_) {
    stream.told = false;
    // Attached streams are ended below, by one EndAllEntry per queue.
    if (Attached(stream)) {
      stream.ended = true;
    } else {
      End(id, &stream, shared);
    }
  }
  fanout_->board().Post(EndAllEntry{shared});
  for (auto& [name, job] : jobs_) job.queue->Post(EndAllEntry{shared});
}

// --- LinkTable ---

void LinkTable::Opened(core::LinkId id, LinkPort* link) { links_[id].link = link; }

bool LinkTable::ClosedEarly(core::LinkId id) const {
  const auto found = links_.find(id);
  return found != links_.end() && found->second.closed;
}

bool LinkTable::Said(core::LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return false;
  Link& entry = found->second;
  if (entry.link == nullptr || entry.ended || entry.closed || entry.lost) {
    return false;
  }
  entry.told = true;
  return true;
}

bool LinkTable::Closed(core::LinkId id, std::unique_ptr<base::Status> why) {
  Link& entry = links_[id];
  entry.closed = true;
  if (entry.why == nullptr) entry.why = std::move(why);
  const bool tell = std::exchange(entry.told, false);
  ForgetIfOver(id, entry);
  return tell;
}

bool LinkTable::Done(core::LinkId id, bool close_posted) {
  Link& entry = links_[id];
  entry.done = true;
  entry.ended = true;
  entry.close_posted = close_posted;
  const bool tell = std::exchange(entry.told, false);
  ForgetIfOver(id, entry);
  return tell;
}

bool LinkTable::Lost(core::LinkId id, std::unique_ptr<base::Status> why) {
  Link& entry = links_[id];
  entry.lost = true;
  if (entry.why == nullptr) entry.why = std::move(why);
  return std::exchange(entry.told, false);
}

void LinkTable::ForgetIfOver(core::LinkId id, const Link& link) {
  if (link.done && (link.closed || !link.close_posted)) links_.erase(id);
}

void LinkTable::Send(core::ToAgent&& effect) {
  const auto found = links_.find(effect.link);
  if (found == links_.end() || found->second.link == nullptr || found->second.ended) return;
  LinkEntry entry;
  entry.link = found->second.link;
  entry.message = std::make_unique<const core::CoordinatorMessage>(std::move(effect.message));
  fanout_->shard(effect.link).Post(std::move(entry));
}

void LinkTable::End(core::LinkId id, const base::Status& status) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  // The recorded reason is more precise than the core's status: the core only has the close.
  const std::unique_ptr<base::Status>& why = found->second.why;
  End(id, &found->second, std::make_shared<const base::Status>(why != nullptr ? *why : status));
}

void LinkTable::End(core::LinkId id, Link* link,
                    const std::shared_ptr<const base::Status>& status) {
  if (link->link == nullptr || link->ended) return;
  link->ended = true;
  LinkEntry entry;
  entry.link = link->link;
  entry.status = status;
  fanout_->shard(id).Post(std::move(entry));
}

void LinkTable::EndAll(const base::Status& status) {
  const auto shared = std::make_shared<const base::Status>(status);
  for (auto& [id, link] : links_) {
    link.told = false;
    End(id, &link, shared);
  }
}

void LinkTable::ReadNext(core::LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end() || found->second.link == nullptr || found->second.ended) return;
  found->second.link->ReadNext();
}

std::vector<core::LinkId> LinkTable::Silent(core::Ms limit) const {
  std::vector<core::LinkId> silent;
  for (const auto& [id, link] : links_) {
    if (link.link == nullptr || link.ended || link.closed || link.lost) continue;
    if (link.link->SilentFor() > limit) silent.push_back(id);
  }
  return silent;
}

std::vector<core::LinkId> LinkTable::Open() const {
  std::vector<core::LinkId> open;
  for (const auto& [id, link] : links_) {
    if (link.link != nullptr && !link.ended) open.push_back(id);
  }
  return open;
}

}  // namespace assay::control
