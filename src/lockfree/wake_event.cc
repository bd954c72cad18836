#include "lockfree/wake_event.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/log.h"

namespace assay::lockfree {
namespace {

int OpenOrDie() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    base::LogError(std::string("cannot create an eventfd: ") + std::strerror(errno) +
                   "; raise the limit on open files (ulimit -n, LimitNOFILE=) and start again");
    std::abort();
  }
  return fd;
}

}  // namespace

WakeEvent::WakeEvent() : fd_(OpenOrDie()) {}

void WakeEvent::Signal() noexcept {
  const std::uint64_t one = 1;
  // EAGAIN means that the counter is at its maximum, so the event is signalled already.
  while (write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void WakeEvent::Clear() noexcept {
  std::uint64_t count = 0;
  while (read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

bool WakeEvent::WaitFor(int timeout_ms) noexcept {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  int left_ms = timeout_ms;
  for (;;) {
    pollfd entry{fd_.get(), POLLIN, 0};
    const int ready = poll(&entry, 1, left_ms);
    if (ready > 0) return true;
    if (ready == 0) return false;
    // EINTR, or a temporary shortage of kernel memory: wait for the remaining time.
    if (timeout_ms >= 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
      left_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
  }
}

}  // namespace assay::lockfree
