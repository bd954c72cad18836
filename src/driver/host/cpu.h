// Divides the machine's cores among devices and runs work on them.
//
// Thread safety: any thread, except RunOnCores: one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "driver/driver.h"

namespace assay::driver::host {

// The cores that this process may run on, ascending: its affinity, which respects cpusets.
base::Result<std::vector<int>> AllowedCores();

// Splits `cores` into `parts` sets of neighbouring cores, whose sizes differ by at most one. With
// more parts than cores, each part is one core, assigned in rotation. REQUIRES: cores is not empty,
// parts > 0.
std::vector<std::vector<int>> SplitCores(const std::vector<int>& cores, std::int32_t parts);

// The cores as text, such as "0-3,8".
std::string CoresText(const std::vector<int>& cores);

// The processor's name in /proc/cpuinfo, or empty.
std::string CpuName();

// Tells the threads of RunOnCores when to stop. Work checks it between steps of a few milliseconds
// each. It completes one round even after the deadline, because a test that did nothing must not
// succeed.
class StopSign {
 public:
  explicit StopSign(std::chrono::steady_clock::time_point deadline) : deadline_(deadline) {}
  bool Seen(std::int64_t round) const {
    return Raised() || (round > 1 && std::chrono::steady_clock::now() >= deadline_);
  }
  // Relaxed: the flag publishes no data; a thread's results are read after it was joined.
  bool Raised() const { return stop_.load(std::memory_order_relaxed); }
  void Raise() { stop_.store(true, std::memory_order_relaxed); }

 private:
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> stop_ = false;
};

// Runs work(i, stop) in one thread per core, pinned to cores[i], and returns after every thread has
// ended. Meanwhile it reports the elapsed share of `duration` to `progress`, if not nullptr. Fails
// if a thread could not be started or pinned; then the results of the work must not be used.
base::Status RunOnCores(const std::vector<int>& cores, std::chrono::milliseconds duration,
                        std::string_view text, Progress* progress,
                        const std::function<void(std::size_t, StopSign*)>& work);

}  // namespace assay::driver::host
