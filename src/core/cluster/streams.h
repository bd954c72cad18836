// Who listens to a job: training agents that execute tests (kNotify) and platforms that wait for
// results (kResult); and who follows the states of all jobs (kSignal, kSignalList; their job is
// "").
//
// A stream is opened once and closed once, in either order (gRPC's callbacks run on several
// threads); between the two the cluster may have ended it itself. Streams do not outlive the
// process. Thread safety: none; the cluster owns it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/cluster/closed_early.h"
#include "core/cluster/step.h"
#include "core/event.h"

namespace assay {

class Streams {
 public:
  // False: the stream has gone already and was let go; nothing more is to be done about it.
  bool Open(const StreamOpened& opened, const Stepping& step);
  void Close(StreamId stream, const Stepping& step);

  // After Open: listens from now on, or is ended with `status`, or gets one late result.
  void Attach(StreamId stream, const Stepping& step);
  void Refuse(StreamId stream, Status status, const Stepping& step);
  void Replay(StreamId stream, const RunHeader& run, const Stepping& step);

  // Ends a stream that may be attached; nothing when it is over already.
  void End(StreamId stream, Status status, const Stepping& step);

  bool HasListener(std::string_view job, Topic topic) const;
  // Every result listener of the job gets the message and its end.
  void PublishResult(const RunHeader& run, const Stepping& step);
  // Ends everybody who listens to the job.
  void EndJob(const std::string& job, const Status& status, const Stepping& step);

 private:
  struct Stream {
    Topic topic = Topic::kNotify;
    std::string job;
    bool attached = false;
    bool ended = false;  // by us; its close is still to come
  };
  struct Listeners {
    std::set<StreamId> of[kTopics];
  };
  std::set<StreamId>& ListenersOf(const Stream& stream);
  void Detach(StreamId id, Stream* stream);

  std::map<StreamId, Stream> streams_;
  std::map<std::string, Listeners, std::less<>> jobs_;
  ClosedEarly closed_early_;
};

}  // namespace assay
