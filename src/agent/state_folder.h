// The agent's state folder, locked for one agent as long as the object lives.
//
// The lock is a kernel lock (flock) on DIR/agent.lock, so a killed agent leaves nothing to clean
// up; the file stays. Worker processes do not inherit the lock.
//
// Thread safety: none.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::agent {

class StateFolder {
 public:
  // Creates the folder if it is missing. kInvalid: the path is empty or contains a NUL byte;
  // kConflict: another agent holds the lock; kUnavailable: the folder cannot be created or written.
  // The last two name the folder and the remedy.
  static base::Result<StateFolder> Take(const std::string& path);

  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&& other) noexcept;
  ~StateFolder();

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  StateFolder(std::string path, int fd);

  std::string path_;
  int fd_ = -1;
};

}  // namespace assay::agent
