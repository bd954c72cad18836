// Freed memory that the allocators keep, given back to the system in quiet moments: a coordinator
// that was asked something large is as small again a few seconds later.
//
// mimalloc's heaps belong to threads, and only the owner can give back what was freed in its heap,
// also by others. So every thread that makes large things has a MemoryKeeper and asks it now and
// then. malloc's memory (gRPC's slices, SQLite) is given back as a whole, by whoever asks.
#pragma once

#include <chrono>

namespace assay {

// Of this thread's heap, and of malloc's. Takes a microsecond or so where there is nothing to give,
// 50 for a megabyte.
void GiveBackMemory();

// When to do it: after kQuiet without work, and now and then where work never ends.
//
// Thread safety: for one thread.
class MemoryKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kQuiet{2};
  static constexpr std::chrono::seconds kAtMost{30};

  // Something was done that may have left memory.
  void Worked(Clock::time_point now = Clock::now()) {
    worked_ = now;
    if (!owes_) since_ = now;
    owes_ = true;
  }
  // Due() will be true some time from now without further work.
  bool owes() const { return owes_; }
  // True: it is time for GiveBackMemory(), which the caller now does. To be asked every second or
  // so.
  bool Due(Clock::time_point now = Clock::now()) {
    const bool quiet = now - worked_ >= kQuiet;
    if (!owes_ || (!quiet && now - since_ < kAtMost)) return false;
    since_ = now;
    owes_ = !quiet;  // what is in work is freed later, perhaps by another thread
    return true;
  }

 private:
  Clock::time_point worked_ = Clock::now();
  Clock::time_point since_ = Clock::now();  // of what is owed
  bool owes_ = true;                        // starting leaves some, too
};

}  // namespace assay
