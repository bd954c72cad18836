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

// Measures how long a thread has worked. Time in which the thread was kept from running (its
// process was stopped by a signal, its control group was frozen, the machine was suspended) does
// not count, except for kWaitMax in each lap: a thread that shares its core waits for it.
//
// Thread safety: only the thread that created it.
class WorkTime {
 public:
  static constexpr std::chrono::milliseconds kWaitMax{100};

  WorkTime();
  // Ends a lap, which adds it to worked().
  void Lap();
  std::chrono::nanoseconds worked() const { return worked_; }
  // The time from creation to the last lap, with everything that did not count.
  std::chrono::nanoseconds passed() const { return passed_; }

 private:
  std::chrono::nanoseconds monotonic_;
  std::chrono::nanoseconds processor_;
  const std::chrono::nanoseconds begin_;
  std::chrono::nanoseconds worked_{0};
  std::chrono::nanoseconds passed_{0};
};

// Tells one thread of RunOnCores when it has worked for long enough. The threads do not stop each
// other: what one core finds, or cannot do, must not hide what another would find.
//
// Thread safety: only the thread that created it.
class WorkClock {
 public:
  // `published` receives the time worked, in nanoseconds, for the progress.
  WorkClock(std::chrono::milliseconds duration, std::atomic<std::int64_t>* published)
      : duration_(duration), published_(published) {}

  // The work asks between steps of a few milliseconds each. It completes one round even after the
  // end, because a test that did nothing must not succeed.
  bool Over(std::int64_t round) {
    time_.Lap();
    // Relaxed: it publishes no other data, and may be late.
    published_->store(time_.worked().count(), std::memory_order_relaxed);
    return round > 1 && time_.worked() >= duration_;
  }
  const WorkTime& time() const { return time_; }

 private:
  const std::chrono::nanoseconds duration_;
  std::atomic<std::int64_t>* const published_;
  WorkTime time_;
};

// The duration of a test, such as "2.0 s" or "2.0 s (7.3 s passed)" if it was stopped meanwhile.
std::string TimeText(std::chrono::nanoseconds worked, std::chrono::nanoseconds passed);

// Runs work(i, clock) in one thread per core, pinned to cores[i], and returns after every thread
// has ended. Meanwhile it reports the worked share of `duration` to `progress`, if not nullptr. The
// error names the first core whose thread could not be started or pinned. The work of the other
// cores is done all the same.
base::Status RunOnCores(const std::vector<int>& cores, std::chrono::milliseconds duration,
                        std::string_view text, Progress* progress,
                        const std::function<void(std::size_t, WorkClock*)>& work);

}  // namespace assay::driver::host
