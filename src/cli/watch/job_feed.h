// The stream of job signals as a platform subscribes to it (ClusterD's job.Job), kept alive over
// restarts of the coordinator. One thread, no callbacks: whoever owns it asks for what is next.
//
// It subscribes to lists, which say how many signals the snapshot has.
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "job.pb.h"

namespace assay {

class JobFeed {
 public:
  struct News {
    enum class Kind {
      kNothing,    // the wait is over
      kConnected,  // subscribed; a snapshot follows, unless there is no job at all
      kSignals,    // list
      kLost,       // status says why; it tries again by itself
      kFailed,     // status says why; there is no more
    };
    Kind kind = Kind::kNothing;
    job::JobSummarySignalList list;
    Status status;
  };

  // A first attempt that fails is kFailed; once it was connected only what cannot get better is.
  JobFeed(const std::string& coordinator, std::string role);
  ~JobFeed();  // unsubscribes
  JobFeed(const JobFeed&) = delete;
  JobFeed& operator=(const JobFeed&) = delete;

  // Waits for the next news, at most so long.
  News Next(std::chrono::milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Where the snapshot at the front of a stream ends. Anew for each connection.
class SnapshotCount {
 public:
  void Add(const job::JobSummarySignalList& list);
  // Every job that was there has been said.
  bool complete() const { return complete_; }

 private:
  std::string report_time_;
  std::int64_t seen_ = 0;
  bool complete_ = false;
};

}  // namespace assay
