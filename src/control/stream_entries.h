// What the control loop says to the queue that a stream hears from, whichever queue it is.
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
