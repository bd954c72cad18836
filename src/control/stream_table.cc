#include "control/stream_table.h"

#include <utility>

namespace assay::control {

// --- StreamTable ---

bool StreamTable::Opened(core::StreamId id, StreamPort* stream, core::Topic topic) {
  entries_[id].topic = topic;
  return PortTable::Opened(id, stream);
}

bool StreamTable::Done(core::StreamId id, bool close_posted) {
  OpenStream& entry = entries_[id];
  if (entry.job != nullptr) {
    if (--entry.job->second.streams == 0) jobs_.erase(jobs_.find(entry.job->first));
    entry.job = nullptr;
  }
  return PortTable::Done(id, close_posted);
}

void StreamTable::Attach(const core::AttachStream& effect) {
  OpenStream* const entry = FindOpen(effect.stream);
  if (entry == nullptr || Attached(*entry)) return;
  AttachEntry attach{effect.stream, entry->port, entry->topic};
  if (IsSignal(effect.topic)) {
    entry->on_board = true;
    fanout_->board().Post(attach);
    return;
  }
  const auto job = jobs_.try_emplace(effect.job).first;
  if (job->second.queue == nullptr) job->second.queue = fanout_->MakeJob(effect.job);
  ++job->second.streams;
  entry->job = &*job;
  entry->results = job->second.results;
  job->second.queue->Post(attach);
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
  OpenStream* const entry = FindOpen(effect.stream);
  if (entry == nullptr || Attached(*entry)) return;
  entry->ended = true;
  fanout_->detached().Post(ReplayEntry{entry->port, effect.job, effect.run, effect.message});
}

void StreamTable::Signal(core::PublishSignal&& effect) {
  fanout_->board().Post(SignalEntry{std::move(effect.signal)});
}

void StreamTable::Forget(core::ForgetDeleted&& effect) {
  fanout_->board().Post(ForgetEntry{std::move(effect.job)});
}

void StreamTable::End(core::StreamId id, const base::Status& status) {
  OpenStream* const entry = FindOpen(id);
  if (entry != nullptr) End(id, entry, std::make_shared<const base::Status>(status));
}

// REQUIRES: the stream is open.
void StreamTable::End(core::StreamId id, OpenStream* entry,
                      const std::shared_ptr<const base::Status>& status) {
  // A published result has ended it.
  const bool has_result = entry->job != nullptr && entry->topic == core::Topic::kResult &&
                          entry->results != entry->job->second.results;
  if (has_result) return;
  entry->ended = true;
  if (entry->job != nullptr) {
    entry->job->second.queue->Post(EndEntry{id, status});
  } else if (entry->on_board) {
    fanout_->board().Post(EndEntry{id, status});
  } else {
    fanout_->detached().Post(EndDetachedEntry{entry->port, status});
  }
}

void StreamTable::EndAll(const base::Status& status) {
  const auto shared = std::make_shared<const base::Status>(status);
  for (auto& [id, entry] : entries_) {
    entry.open_in_core = false;
    if (entry.port == nullptr || entry.ended) continue;
    // Attached streams are ended below, by one EndAllEntry per queue.
    if (Attached(entry)) {
      entry.ended = true;
    } else {
      End(id, &entry, shared);
    }
  }
  fanout_->board().Post(EndAllEntry{shared});
  for (auto& [name, job] : jobs_) job.queue->Post(EndAllEntry{shared});
}

// --- LinkTable ---

bool LinkTable::AcceptMessage(core::LinkId id) {
  const AttachedLink* const entry = FindOpen(id);
  if (entry == nullptr || entry->closed || entry->lost) return false;
  MarkOpenInCore(id);
  return true;
}

bool LinkTable::Closed(core::LinkId id, std::unique_ptr<base::Status> why) {
  AttachedLink& entry = entries_[id];
  if (entry.why == nullptr) entry.why = std::move(why);
  return PortTable::Closed(id);
}

bool LinkTable::Lost(core::LinkId id, std::unique_ptr<base::Status> why) {
  AttachedLink& entry = entries_[id];
  entry.lost = true;
  if (entry.why == nullptr) entry.why = std::move(why);
  return std::exchange(entry.open_in_core, false);
}

void LinkTable::Send(core::ToAgent&& effect) {
  const AttachedLink* const entry = FindOpen(effect.link);
  if (entry == nullptr) return;
  LinkEntry message;
  message.link = entry->port;
  message.message = std::make_unique<const core::CoordinatorMessage>(std::move(effect.message));
  fanout_->shard(effect.link).Post(std::move(message));
}

void LinkTable::End(core::LinkId id, const base::Status& status) {
  AttachedLink* const entry = FindOpen(id);
  if (entry == nullptr) return;
  // The recorded reason is more precise than the core's status: the core only has the close.
  const base::Status& reason = entry->why != nullptr ? *entry->why : status;
  End(id, entry, std::make_shared<const base::Status>(reason));
}

// REQUIRES: the link is open.
void LinkTable::End(core::LinkId id, AttachedLink* entry,
                    const std::shared_ptr<const base::Status>& status) {
  entry->ended = true;
  LinkEntry end;
  end.link = entry->port;
  end.status = status;
  fanout_->shard(id).Post(std::move(end));
}

void LinkTable::EndAll(const base::Status& status) {
  const auto shared = std::make_shared<const base::Status>(status);
  for (auto& [id, entry] : entries_) {
    entry.open_in_core = false;
    if (entry.port != nullptr && !entry.ended) End(id, &entry, shared);
  }
}

void LinkTable::ReadNext(core::LinkId id) {
  if (AttachedLink* const entry = FindOpen(id)) entry->port->ReadNext();
}

std::vector<core::LinkId> LinkTable::Silent(core::Ms limit) const {
  std::vector<core::LinkId> silent;
  for (const auto& [id, entry] : entries_) {
    if (entry.port == nullptr || entry.ended || entry.closed || entry.lost) continue;
    if (entry.port->SilentFor() > limit) silent.push_back(id);
  }
  return silent;
}

std::vector<core::LinkId> LinkTable::Open() const {
  std::vector<core::LinkId> open;
  for (const auto& [id, entry] : entries_) {
    if (entry.port != nullptr && !entry.ended) open.push_back(id);
  }
  return open;
}

}  // namespace assay::control
