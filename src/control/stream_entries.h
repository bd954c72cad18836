// The entries that attach and end streams, common to all fan-out queues that serve streams.
#pragma once

#include <memory>

#include "base/status.h"
#include "control/ports.h"
#include "core/event.h"

namespace assay::control {

struct AttachEntry {
  core::StreamId id = 0;
  StreamPort* stream = nullptr;
  core::Topic topic = core::Topic::kNotify;
};
struct EndEntry {
  core::StreamId id = 0;
  std::shared_ptr<const base::Status> status;
};
struct EndAllEntry {
  std::shared_ptr<const base::Status> status;
};

}  // namespace assay::control
