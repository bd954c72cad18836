// The registry of open server streams. Listeners of one job: training agents that execute tests
// (kNotify) and platforms that wait for results (kResult). Listeners of all jobs: subscribers of
// job signals (kSignal, kSignalList), whose job is "".
//
// Each stream has one open event and then one close event; the caller's table of streams owns that
// order. The cluster may end a stream before its close event arrives. Streams do not outlive the
// process.
//
// Thread safety: none; the cluster owns it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/cluster/step.h"
#include "core/event.h"

namespace assay::core::cluster {

class Streams {
 public:
  // False: it was opened before, which is a defect of the caller; the event is ignored.
  bool Open(const StreamOpened& opened, const Stepping& step);
  void Close(StreamId stream, const Stepping& step);

  // Call exactly one of these after Open(): Attach() makes the stream a listener, Refuse() ends it
  // with `status`, Replay() sends it the result of a run that has ended, and ends it.
  void Attach(StreamId stream, const Stepping& step);
  void Refuse(StreamId stream, base::Status status, const Stepping& step);
  void Replay(StreamId stream, const RunHeader& run, const Stepping& step);

  // Ends a stream, attached or not; ignored if it has ended.
  void End(StreamId stream, base::Status status, const Stepping& step);

  bool HasListener(std::string_view job, Topic topic) const;
  // Sends the run's message to every result listener of the job and ends these streams.
  void PublishResult(const RunHeader& run, const Stepping& step);
  // Ends all streams that listen to the job.
  void EndJob(const std::string& job, const base::Status& status, const Stepping& step);

 private:
  struct Stream {
    Topic topic = Topic::kNotify;
    std::string job;
    bool attached = false;
    bool ended = false;  // by the cluster; the close event has not arrived yet
  };
  struct Listeners {
    std::set<StreamId> of[kTopics];
  };
  std::set<StreamId>& ListenersOf(const Stream& stream);
  void Detach(StreamId id, Stream* stream);

  std::map<StreamId, Stream> streams_;
  std::map<std::string, Listeners, std::less<>> jobs_;
};

}  // namespace assay::core::cluster
