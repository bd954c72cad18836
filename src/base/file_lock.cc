#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace assay::base {
namespace {

Status SystemError(const std::string& path, int error) {
  return UnavailableError(path + ": " + std::generic_category().message(error));
}

// Names the process that holds the lock. The file may have any content: only leading digits count.
std::string HolderText(int fd) {
  char text[16];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  std::string pid;
  for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i) pid.push_back(text[i]);
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Result<FileLock> FileLock::Take(const std::string& file) {
  const std::string path = file + ".lock";
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) return SystemError(path, errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EWOULDBLOCK) return ConflictError(HolderText(fd.get()));
    return SystemError(path, error);
  }
  // The process id is only for operators and the text above: if writing it fails (full disk), the
  // lock still holds.
  const std::string pid = std::to_string(getpid()) + '\n';
  if (ftruncate(fd.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(fd.get(), pid.data(), pid.size(), 0);
  }
  return FileLock(std::move(fd));
}

}  // namespace assay::base
