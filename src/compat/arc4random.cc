// Replaces arc4random, so that the binary starts on glibc 2.34: libstdc++ built on glibc 2.36 calls
// arc4random (GLIBC_2.36) for std::random_device. This one has hidden visibility and uses getrandom
// (GLIBC_2.25).
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  ssize_t got = -1;
  // getrandom returns up to 256 bytes completely. A signal can interrupt it only before the
  // kernel's pool is first seeded.
  while ((got = getrandom(&value, sizeof value, 0)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof value)) std::abort();  // as glibc's does
  return value;
}
