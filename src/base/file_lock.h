// Holds an exclusive lock on FILE.lock, so that only one process at a time uses FILE.
//
// The lock is not on FILE itself: when this process closes any descriptor of FILE, it loses
// SQLite's own locks there. The kernel releases the lock when the process ends, whatever the cause;
// FILE.lock remains.
// Thread safety: none.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace assay::base {

class LockFile {
 public:
  // kConflict: another process holds the lock; the text names it.
  static Result<LockFile> Take(const std::string& file);
  ~LockFile();
  LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace assay::base
