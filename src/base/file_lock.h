// Keeps a second process away from a file by a lock on FILE.lock.
//
// The lock is not on the file itself: SQLite's own locks there are lost whenever this process
// closes any descriptor of it. It ends with the process, however that dies; the small file stays.
// Thread safety: none.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace assay {

class LockFile {
 public:
  // kConflict, naming the process, when somebody holds it.
  static Result<LockFile> Take(const std::string& file);
  ~LockFile();
  LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace assay
