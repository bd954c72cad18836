// The steady clock in milliseconds, for measuring durations; never for times that are printed or
// stored.
#pragma once

#include <chrono>
#include <cstdint>

namespace assay::base {

// Milliseconds since an arbitrary moment; never goes back. Thread safety: any thread.
inline std::int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace assay::base
