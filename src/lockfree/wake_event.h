// A wake-up flag backed by an eventfd: a thread can sleep on it, and an epoll or poll set can hold
// its descriptor.
//
// Thread safety: Signal from any thread; Clear and WaitFor from the one waiting thread. A Clear
// that consumed a Signal synchronises with it: the waiting thread then sees everything that the
// signalling thread did before the Signal (the kernel orders the two calls on one descriptor).
#pragma once

#include "base/unique_fd.h"

namespace assay::lockfree {

class WakeEvent {
 public:
  // Logs an error and ends the process if no descriptor is available: a role cannot run without its
  // wake-up, and creates it once at the start.
  WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  // Never blocks. Several signals before a Clear count as one.
  void Signal() noexcept;
  void Clear() noexcept;
  // True if signalled, false after timeout_ms (negative: no timeout). Does not clear the flag.
  bool WaitFor(int timeout_ms) noexcept;
  // Readable while signalled. This object owns it; poll it, but do not read it.
  int fd() const noexcept { return fd_.get(); }

 private:
  const base::UniqueFd fd_;
};

}  // namespace assay::lockfree
