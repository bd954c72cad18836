// The jobs that a stream of signals has told of: says after a new connection which of them went
// while nobody listened, longer ago than the coordinator remembers.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "job.pb.h"

namespace assay {

class KnownJobs {
 public:
  void Apply(job::JobSummarySignal&& signal);

  // A new connection: whatever is not applied again until EndSnapshot() has gone.
  void BeginSnapshot() { ++generation_; }
  // Of each that has gone its last signal, with operator delete and no deleteTime: nobody said
  // when.
  std::vector<job::JobSummarySignal> EndSnapshot();

  std::size_t size() const { return jobs_.size(); }

 private:
  struct Known {
    job::JobSummarySignal signal;
    std::uint64_t generation = 0;  // of the snapshot that last had it
  };

  std::map<std::string, Known> jobs_;
  std::uint64_t generation_ = 0;
};

}  // namespace assay
