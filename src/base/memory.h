// Returns freed memory from the allocators to the system in quiet moments, so that a process
// shrinks back a few seconds after a large request.
//
// mimalloc's heaps belong to threads, and only the owning thread can return what was freed in its
// heap, also by other threads. So every thread that allocates large objects has a MemoryTrimmer and
// polls it. malloc's memory (gRPC's slices, SQLite) is returned as a whole by any caller.
#pragma once

#include <chrono>

namespace assay::base {

// Returns the freed memory of the calling thread's heap and of malloc's. Takes about 1 us when
// there is nothing to return, 50 us for a megabyte.
void ReturnFreedMemory();

// Decides when to call ReturnFreedMemory(): after kQuiet without work, and every kAtMost under
// continuous work.
//
// Thread safety: none; each thread has its own.
class MemoryTrimmer {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kQuiet{2};
  static constexpr std::chrono::seconds kAtMost{30};

  // Call after work that may have left freed memory.
  void Worked(Clock::time_point now = Clock::now()) {
    worked_ = now;
    if (!pending_) since_ = now;
    pending_ = true;
  }
  // Due() will become true later even without further work.
  bool pending() const { return pending_; }
  // True: the caller must call ReturnFreedMemory() now. Poll about once a second.
  bool Due(Clock::time_point now = Clock::now()) {
    const bool quiet = now - worked_ >= kQuiet;
    if (!pending_ || (!quiet && now - since_ < kAtMost)) return false;
    since_ = now;
    pending_ = !quiet;  // memory still in use is freed later, perhaps by another thread
    return true;
  }

 private:
  Clock::time_point worked_ = Clock::now();
  // The first work since memory was last returned, or the last time Due() was true.
  Clock::time_point since_ = Clock::now();
  bool pending_ = true;  // start-up leaves freed memory, too
};

}  // namespace assay::base
