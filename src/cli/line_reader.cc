#include "cli/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace assay::cli {

base::Status LineReader::Read(int timeout_ms, std::vector<Line>* lines) {
  pollfd wait{fd_, POLLIN, 0};
  // No input yet, or a signal interrupted the wait.
  if (ended_ || poll(&wait, 1, timeout_ms) != 1) return base::Status::Ok();
  std::array<char, 65536> buffer;
  const ssize_t got = read(fd_, buffer.data(), buffer.size());
  if (got < 0) {
    if (errno == EINTR || errno == EAGAIN) return base::Status::Ok();
    return base::UnavailableError(std::string("standard input: ") + std::strerror(errno));
  }
  if (got == 0) {
    ended_ = true;
    if (begun_) EndLine(lines);
  }
  Take(buffer.data(), static_cast<std::size_t>(got), lines);
  return base::Status::Ok();
}

void LineReader::Take(const char* bytes, std::size_t size, std::vector<Line>* lines) {
  while (size != 0) {
    const auto* end = static_cast<const char*>(std::memchr(bytes, '\n', size));
    const std::size_t part = end == nullptr ? size : static_cast<std::size_t>(end - bytes);
    const std::size_t kept = std::min(part, line_bytes_max_ - line_.text.size());
    line_.text.append(bytes, kept);
    line_.too_long = line_.too_long || kept < part;
    begun_ = true;
    if (end == nullptr) return;
    EndLine(lines);
    bytes = end + 1;
    size -= part + 1;
  }
}

void LineReader::EndLine(std::vector<Line>* lines) {
  const std::int64_t next = line_.number + 1;
  lines->push_back(std::move(line_));
  line_ = Line{next, "", false};
  begun_ = false;
}

}  // namespace assay::cli
