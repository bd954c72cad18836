// What one step of the supervisor works with: the time and where its answers go. Internal to
// supervisor.cc.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "core/node/supervisor.h"

namespace assay {

inline constexpr Ms kNever = std::numeric_limits<Ms>::max();

// `now + delay`, with the delays of messages bounded so that nothing overflows.
inline Ms Later(Ms now, Ms delay) {
  constexpr Ms kDelayMax = Ms{1000} * 3600 * 24 * 365;
  return now + std::clamp<Ms>(delay, 0, kDelayMax);
}

// REQUIRES: the pointers outlive it; made anew for each step.
struct NodeStep {
  Ms now = 0;
  bool link_up = false;
  Spooled* spooled = nullptr;
  NodeOutput* out = nullptr;

  void Store(SpoolRecord record) const {
    Apply(record, spooled);
    out->records.push_back(std::move(record));
  }
  void Do(NodeEffect effect) const { out->effects.push_back(std::move(effect)); }
  void Send(AgentMessage message) const {
    if (link_up) Do(SendToCoordinator{std::move(message)});
  }
};

}  // namespace assay
