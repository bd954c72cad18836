// One state of one job, as sent to subscribers of job signals (docs/wire.md 6). The core makes one
// at each change of a job.
//
// Ownership: immutable and shared by all queues that deliver it. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/model.h"

namespace assay::core {

struct Signal {
  JobSpec job;
  JobState state = JobState::kPending;
  bool deleted = false;                     // the job was deleted: operator `delete` on the wire
  Ms created = 0;                           // when the job was created (again after a deletion)
  Ms ended = 0;                             // when it became complete, failed or deleted; else 0
  std::shared_ptr<const std::string> hccl;  // the rank table in wire form; never null
  // Counts the changes of all jobs, from 1, since the coordinator's state was last loaded: of two
  // signals the later one has the higher number.
  std::uint64_t change = 0;
};
using SignalPtr = std::shared_ptr<const Signal>;

}  // namespace assay::core
