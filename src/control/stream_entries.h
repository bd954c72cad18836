// The entries that attach and end streams, common to all fan-out queues that serve streams.
#pragma once

#include <memory>

#include "base/status.h"
#include "control/ports.h"
#include "core/event.h"

namespace assay {

struct AttachEntry {
  StreamId id = 0;
  StreamPort* stream = nullptr;
  Topic topic = Topic::kNotify;
};
struct EndEntry {
  StreamId id = 0;
  std::shared_ptr<const Status> status;
};
struct EndAllEntry {
  std::shared_ptr<const Status> status;
};

}  // namespace assay
