// Starting a program with four pipes and nothing else of this process.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace assay {

// A descriptor that is closed at the end.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset();

 private:
  int fd_ = -1;
};

struct SpawnedProcess {
  pid_t pid = 0;
  UniqueFd pidfd;
  UniqueFd to;       // what it reads at kChildIn; not blocking
  UniqueFd from;     // what it writes at kChildOut; not blocking
  UniqueFd capture;  // its standard output and error, in the order they were written; not blocking
};

inline constexpr int kChildIn = 3;
inline constexpr int kChildOut = 4;

// Runs `program` with argv {"assay", args...} in a session of its own, with /dev/null to read from,
// default signal dispositions, no signal blocked, and of this process's descriptors none but the
// pipes. `env` is added to the environment and wins over it.
//
// Thread safety: any thread; but see PR_SET_PDEATHSIG in worker_process.h.
Result<SpawnedProcess> Spawn(const std::string& program, const std::vector<std::string>& args,
                             const std::vector<std::string>& env);

}  // namespace assay
