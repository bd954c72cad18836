// The agent's state folder: one agent at a time, for as long as the object lives.
//
// Held by a lock of the kernel's (flock) on DIR/agent.lock, so a killed agent leaves nothing to
// clean up; the file stays.
//
// Thread safety: none. Worker processes do not inherit the lock.
#pragma once

#include <string>

#include "base/status.h"

namespace assay {

class StateFolder {
 public:
  // Makes the folder where it is missing. kConflict: another agent has it; kUnavailable: it cannot
  // be made or written. Both name the folder and what to do.
  static Result<StateFolder> Take(const std::string& path);

  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&& other) noexcept;
  ~StateFolder();

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  StateFolder(std::string path, int fd);

  std::string path_;
  int fd_ = -1;
};

}  // namespace assay
