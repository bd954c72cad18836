// A flag that a thread can sleep on and that an epoll or poll set can hold: an eventfd.
//
// Thread safety: Signal from any thread; Clear and WaitFor from the one sleeper. A Clear that took
// a Signal synchronises with it: what the signaller did before is seen after (the kernel orders the
// two calls on one descriptor).
#pragma once

namespace assay {

class WakeEvent {
 public:
  // Ends the process with a message when the system has no descriptor left: without its wake-up a
  // role cannot run, and it is made once at the start.
  WakeEvent();
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  // Never blocks. Signals that nobody cleared count as one.
  void Signal() noexcept;
  void Clear() noexcept;
  // True when signalled, false when timeout_ms passed. Negative: without end. Clears nothing.
  bool WaitFor(int timeout_ms) noexcept;
  // Readable while signalled. Owned by this object; to be polled, not read.
  int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace assay
