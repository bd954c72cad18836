#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace assay::base {
namespace {

std::string SystemError(int error) { return std::generic_category().message(error); }

// Names the process that holds the lock. The file may have any content: only leading digits count.
std::string HolderText(int descriptor) {
  char text[16];
  const ssize_t size = pread(descriptor, text, sizeof text, 0);
  std::string pid;
  for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i) pid.push_back(text[i]);
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Result<LockFile> LockFile::Take(const std::string& file) {
  const std::string path = file + ".lock";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) {
    const int error = errno;
    return UnavailableError("cannot lock " + file + ": " + path + ": " + SystemError(error) +
                            ": make the file and its folder writable for this user");
  }
  LockFile lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EWOULDBLOCK) {
      return ConflictError(file + " is in use by " + HolderText(descriptor) +
                           ": stop that process or use another file");
    }
    return UnavailableError("cannot lock " + path + ": " + SystemError(error) +
                            ": put it on a local disk");
  }
  // The process id is only for operators and the message above: if writing it fails (full disk),
  // the lock still holds.
  const std::string pid = std::to_string(getpid()) + '\n';
  if (ftruncate(descriptor, 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(descriptor, pid.data(), pid.size(), 0);
  }
  return lock;
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace assay::base
