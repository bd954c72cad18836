// The agent's state folder, locked for one agent as long as the object lives.
//
// The lock file is DIR/agent.lock (base/file_lock.h).
//
// Thread safety: none.
#pragma once

#include <string>
#include <utility>

#include "base/file_lock.h"
#include "base/status.h"

namespace assay::agent {

class StateFolder {
 public:
  // Creates the folder if it is missing. kInvalid: the path is empty or contains a NUL byte;
  // kConflict: another agent holds the lock; kUnavailable: the folder cannot be created or written.
  // The last two name the folder and the remedy.
  static base::Result<StateFolder> Take(const std::string& path);

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  StateFolder(std::string path, base::FileLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::FileLock lock_;
};

}  // namespace assay::agent
