#include "cli/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/read_file.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace assay::cli {

base::Result<std::string> ReadInput(const std::string& path, std::size_t bytes_max) {
  const bool standard = path == "-";
  const std::string shown = standard ? "standard input" : base::ShownEnd(path, 200);
  const auto problem = [&](int error) {
    return base::NotFoundError(shown + ": " + std::strerror(error));
  };
  base::UniqueFd opened;
  if (!standard) {
    opened = base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) return problem(errno);
  }
  std::string text;
  const int fd = standard ? STDIN_FILENO : opened.get();
  if (const int error = base::ReadToEnd(fd, bytes_max, &text)) return problem(error);
  if (text.size() > bytes_max) {
    return base::InvalidError(shown + " is larger than " + std::to_string(bytes_max >> 20) +
                              " MiB");
  }
  return text;
}

}  // namespace assay::cli
