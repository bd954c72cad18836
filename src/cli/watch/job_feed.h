// A subscription to job signals, made as a platform makes it (ClusterD's job.Job), that reconnects
// after restarts of the coordinator.
//
// There are no threads and no callbacks: the owner polls Next(). The feed subscribes to lists,
// because a list contains the number of signals in the snapshot.
//
// Thread safety: none; one thread uses it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "job.pb.h"

namespace assay::cli::watch {

class JobFeed {
 public:
  struct News {
    enum class Kind {
      kNothing,    // the timeout has passed
      kConnected,  // subscribed; a snapshot follows, unless there is no job at all
      kSignals,    // `list` has the signals
      kLost,       // `status` has the reason; the feed reconnects automatically
      kFailed,     // `status` has the reason; nothing follows
    };
    Kind kind = Kind::kNothing;
    job::JobSummarySignalList list;
    base::Status status;
  };

  // A failure of the first attempt is kFailed. After the first connection only an error that no
  // retry can fix is kFailed; every other one is kLost.
  JobFeed(const std::string& coordinator, std::string role);
  ~JobFeed();  // unsubscribes
  JobFeed(const JobFeed&) = delete;
  JobFeed& operator=(const JobFeed&) = delete;

  // Waits at most `timeout` for the next news.
  News Next(std::chrono::milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Detects the end of the snapshot that begins a stream. Create one for each connection.
class SnapshotCount {
 public:
  void Add(const job::JobSummarySignalList& list);
  // Whether all signals of the snapshot have been added.
  bool complete() const { return complete_; }

 private:
  std::string report_time_;
  std::int64_t seen_ = 0;
  bool complete_ = false;
};

}  // namespace assay::cli::watch
