#include "agent/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace assay::agent {
namespace {

std::string Shown(const std::string& path) { return base::ShownEnd(path, 200); }

base::Status CannotUse(const std::string& path, const std::string& why) {
  return base::UnavailableError("cannot use the state folder " + Shown(path) + ": " + why +
                                "; set --state-dir to a folder that this user can write");
}

// " (process 1234)", from what the lock's holder wrote into the file.
std::string Holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = pread(fd, text.data(), text.size() - 1, 0);
  std::string digits;
  for (ssize_t i = 0; i < size; i++) {
    const char c = text[static_cast<std::size_t>(i)];
    if (c < '0' || c > '9') break;
    digits += c;
  }
  return digits.empty() ? "" : " (process " + digits + ")";
}

}  // namespace

base::Result<StateFolder> StateFolder::Take(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return base::InvalidError("--state-dir is empty or contains a NUL byte");
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return CannotUse(path, error.message());
  const std::string file = path + "/agent.lock";
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return CannotUse(path, std::strerror(errno));
  StateFolder folder(path, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return CannotUse(path, std::strerror(errno));
    return base::ConflictError("the state folder " + Shown(path) + " is in use by another agent" +
                               Holder(fd) +
                               "; stop that agent, or give this one another --state-dir");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return CannotUse(path, std::strerror(errno));
  }
  return folder;
}

StateFolder::StateFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

StateFolder& StateFolder::operator=(StateFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

StateFolder::~StateFolder() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace assay::agent
