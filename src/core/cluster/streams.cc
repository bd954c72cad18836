#include "core/cluster/streams.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace assay::core::cluster {

bool Streams::Open(const StreamOpened& opened, const Stepping& step) {
  if (streams_.emplace(opened.stream, Stream{opened.topic, opened.job, false, false}).second) {
    return true;
  }
  step.Do(ReportDefect{"stream " + std::to_string(opened.stream) + " was opened twice"});
  return false;
}

void Streams::Close(StreamId id, const Stepping& step) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) {
    step.Do(ReportDefect{"stream " + std::to_string(id) + " was closed but is not open"});
    return;
  }
  End(id, base::Status::Ok(), step);
  streams_.erase(it);
}

void Streams::Attach(StreamId id, const Stepping& step) {
  Stream& stream = streams_.at(id);
  stream.attached = true;
  ListenersOf(stream).insert(id);
  step.Do(AttachStream{id, stream.topic, stream.job});
}

void Streams::Refuse(StreamId id, base::Status status, const Stepping& step) {
  streams_.at(id).ended = true;
  step.Do(EndStream{id, "", std::move(status)});
}

void Streams::Replay(StreamId id, const RunHeader& run, const Stepping& step) {
  streams_.at(id).ended = true;
  step.Do(ReplayResult{id, run.job, run.id, std::make_shared<const std::string>(run.message)});
}

bool Streams::HasListener(std::string_view job, Topic topic) const {
  const auto it = jobs_.find(job);
  return it != jobs_.end() && !it->second.of[static_cast<std::size_t>(topic)].empty();
}

void Streams::End(StreamId id, base::Status status, const Stepping& step) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.ended) return;
  const std::string job = it->second.attached ? it->second.job : "";
  Detach(id, &it->second);
  it->second.ended = true;
  step.Do(EndStream{id, job, std::move(status)});
}

void Streams::PublishResult(const RunHeader& run, const Stepping& step) {
  const auto it = jobs_.find(run.job);
  if (it == jobs_.end()) return;
  const std::set<StreamId> waiting = it->second.of[static_cast<std::size_t>(Topic::kResult)];
  if (waiting.empty()) return;
  for (const StreamId id : waiting) {
    Stream& stream = streams_.at(id);
    Detach(id, &stream);
    stream.ended = true;
  }
  step.Do(assay::core::PublishResult{run.job, run.id,
                                     std::make_shared<const std::string>(run.message)});
}

void Streams::EndJob(const std::string& job, const base::Status& status, const Stepping& step) {
  const auto it = jobs_.find(job);
  if (it == jobs_.end()) return;
  std::vector<StreamId> ids;
  for (const auto& listeners : it->second.of)
    ids.insert(ids.end(), listeners.begin(), listeners.end());
  for (const StreamId id : ids) End(id, status, step);
}

std::set<StreamId>& Streams::ListenersOf(const Stream& stream) {
  return jobs_[stream.job].of[static_cast<std::size_t>(stream.topic)];
}

void Streams::Detach(StreamId id, Stream* stream) {
  if (!stream->attached) return;
  stream->attached = false;
  const auto it = jobs_.find(stream->job);
  it->second.of[static_cast<std::size_t>(stream->topic)].erase(id);
  const auto nobody = [](const std::set<StreamId>& listeners) { return listeners.empty(); };
  if (std::all_of(std::begin(it->second.of), std::end(it->second.of), nobody)) jobs_.erase(it);
}

}  // namespace assay::core::cluster
