// libstdc++ as built on glibc 2.36 asks arc4random (GLIBC_2.36) for std::random_device. Ours is
// hidden and over getrandom (GLIBC_2.25), so that the binary starts on glibc 2.34.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  ssize_t got = -1;
  // Up to 256 bytes come whole; only a signal before the pool is first seeded interrupts.
  while ((got = getrandom(&value, sizeof value, 0)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof value)) std::abort();  // glibc's own does the same
  return value;
}
