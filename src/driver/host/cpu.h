// The cores a device is made of, and running work on them.
//
// Thread safety: functions; RunOnCores is called from one thread at a time.
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

namespace assay::driver {

// Cores this process may run on (its affinity, so cpusets count), ascending.
Result<std::vector<int>> AllowedCores();

// `cores` in `parts` neighbouring sets whose sizes differ by at most one; with more parts than
// cores, parts share them in turn. REQUIRES: cores not empty, parts > 0.
std::vector<std::vector<int>> SplitCores(const std::vector<int>& cores, std::int32_t parts);

// "0-3,8" for people.
std::string CoresText(const std::vector<int>& cores);

// What /proc/cpuinfo calls the processor, or "".
std::string CpuName();

// When work on the cores should stop. Work looks at it between two steps of some milliseconds, and
// does one whole round even when the time is over: a test that did nothing must not end well.
class StopSign {
 public:
  explicit StopSign(std::chrono::steady_clock::time_point deadline) : deadline_(deadline) {}
  bool Seen(std::int64_t round) const {
    return Raised() || (round > 1 && std::chrono::steady_clock::now() >= deadline_);
  }
  // Relaxed: it carries no data, what a thread found is read after it was joined.
  bool Raised() const { return stop_.load(std::memory_order_relaxed); }
  void Raise() { stop_.store(true, std::memory_order_relaxed); }

 private:
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> stop_ = false;
};

// Runs work(i, stop) in one thread per core, pinned to cores[i], until every one has returned;
// meanwhile progress (nullptr: nobody) is told how much of `duration` has gone. An error when a
// thread could not be made or pinned; then no work was done that counts.
Status RunOnCores(const std::vector<int>& cores, std::chrono::milliseconds duration,
                  std::string_view text, Progress* progress,
                  const std::function<void(std::size_t, StopSign*)>& work);

}  // namespace assay::driver
