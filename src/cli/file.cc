#include "cli/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace assay::cli {

base::Result<std::string> ReadInput(const std::string& path, std::size_t bytes_max) {
  const bool standard = path == "-";
  const std::string shown = standard ? "standard input" : base::ShownEnd(path, 200);
  const auto problem = [&](int error) {
    return base::NotFoundError(shown + ": " + std::strerror(error));
  };
  const int fd = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return problem(errno);
  std::string text;
  std::array<char, 65536> buffer;
  base::Status status;
  while (status.ok()) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      status = problem(errno);
    } else if (text.size() + static_cast<std::size_t>(got) > bytes_max) {
      status =
          base::InvalidError(shown + " is larger than " + std::to_string(bytes_max >> 20) + " MiB");
    } else {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  if (!standard) close(fd);
  if (!status.ok()) return status;
  return text;
}

}  // namespace assay::cli
