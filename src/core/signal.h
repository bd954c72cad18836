// One state of one job, as subscribers of job signals get to know it (docs/wire.md 6). Immutable:
// made by the core at each change, shared by everything that carries it to subscribers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/model.h"

namespace assay {

struct Signal {
  JobSpec job;
  JobState state = JobState::kPending;
  bool deleted = false;                     // the end of this life of the job: operator `delete`
  Ms created = 0;                           // when this life began
  Ms ended = 0;                             // complete or failed since, or deleted at; else 0
  std::shared_ptr<const std::string> hccl;  // the rank table as the wire has it; never null
  // Counts all changes of all jobs while the coordinator's state is not loaded anew, from 1: of two
  // signals the later one has the higher number.
  std::uint64_t change = 0;
};
using SignalPtr = std::shared_ptr<const Signal>;

}  // namespace assay
