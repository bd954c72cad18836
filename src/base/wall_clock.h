// The wall clock, where a time is said or stored; never to measure how long something takes.
#pragma once

#include <chrono>
#include <cstdint>

namespace assay {

// Milliseconds since 1970. Thread safety: any thread.
inline std::int64_t WallNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace assay
