// The jobs in a stream of signals. After a new connection it finds those that were deleted while
// there was no connection, and so long ago that the coordinator no longer sends their deletion.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "job.pb.h"

namespace assay::cli::watch {

class KnownJobs {
 public:
  void Apply(job::JobSummarySignal&& signal);

  // Call after a new connection. Jobs not applied between this call and EndSnapshot() were deleted.
  void BeginSnapshot() { ++generation_; }
  // Removes the jobs that were deleted and returns the last signal of each, with operator delete
  // and without a deleteTime, which is unknown.
  std::vector<job::JobSummarySignal> EndSnapshot();

  std::size_t size() const { return jobs_.size(); }

 private:
  struct Known {
    job::JobSummarySignal signal;
    std::uint64_t generation = 0;  // of the last snapshot that contained the job
  };

  std::map<std::string, Known> jobs_;
  std::uint64_t generation_ = 0;
};

}  // namespace assay::cli::watch
