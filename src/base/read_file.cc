#include "base/read_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace assay::base {

int ReadToEnd(int fd, std::size_t bytes_max, std::string* text) {
  std::array<char, 65536> buffer;
  while (text->size() <= bytes_max) {
    // The order of the subtraction avoids an overflow for the largest bytes_max.
    const std::size_t room = bytes_max - text->size();
    const std::size_t wanted = room < buffer.size() ? room + 1 : buffer.size();
    const ssize_t got = read(fd, buffer.data(), wanted);
    if (got == 0) return 0;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    text->append(buffer.data(), static_cast<std::size_t>(got));
  }
  return 0;
}

}  // namespace assay::base
