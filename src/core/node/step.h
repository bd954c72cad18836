// The context of one Supervisor::Step: the time, and the sinks for records and effects. Internal
// to supervisor.cc.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "core/node/supervisor.h"

namespace assay::core::node {

inline constexpr Ms kNever = std::numeric_limits<Ms>::max();

// `now + delay`, with `delay` limited to 0 to 365 days: delays in messages are not trusted, and
// the sum must not overflow.
inline Ms Later(Ms now, Ms delay) {
  constexpr Ms kDelayMax = Ms{1000} * 3600 * 24 * 365;
  return now + std::clamp<Ms>(delay, 0, kDelayMax);
}

// REQUIRES: the pointers outlive it; created for each step.
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

}  // namespace assay::core::node
