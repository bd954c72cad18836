// The wall clock, for times that are printed or stored; never for measuring durations.
#pragma once

#include <chrono>
#include <cstdint>

namespace assay::base {

// Milliseconds since 1970. Thread safety: any thread.
inline std::int64_t WallNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace assay::base
