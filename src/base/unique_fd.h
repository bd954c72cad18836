// Owns a file descriptor and closes it on destruction.
//
// Thread safety: none.
#pragma once

#include <unistd.h>

#include <utility>

namespace assay::base {

class UniqueFd {
 public:
  UniqueFd() = default;
  // A negative fd means none: the result of a failed open() can be passed as it is.
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.Release();
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Closes the descriptor now.
  void Reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  // Gives the descriptor to the caller, who must close it.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace assay::base
