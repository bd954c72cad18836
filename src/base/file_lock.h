// Holds an exclusive lock on FILE.lock, so that only one process at a time uses FILE.
//
// The lock is a kernel lock (flock), and not on FILE itself: when this process closes any
// descriptor of FILE, it loses SQLite's own locks there. The kernel releases the lock when the
// process ends, whatever the cause; FILE.lock remains, with the process id of its last holder.
// Child processes do not inherit the lock.
//
// Thread safety: none.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace assay::base {

class FileLock {
 public:
  // kConflict: another process holds the lock; the text names it: "process 1234", or "another
  // process" if it did not leave its id. kUnavailable: the text is the name of the lock file and
  // the system's reason. The caller says in which connection, and what to do.
  static Result<FileLock> Take(const std::string& file);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace assay::base
