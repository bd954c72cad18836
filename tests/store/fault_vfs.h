// Every SQLite connection that a test opens while one of these lives goes through it; it lets calls
// to the disk fail.
#pragma once

#include <memory>

namespace assay {

class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();  // REQUIRES: no connection is open
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // What fails: everything that changes the disk, or only some of it.
  enum class Calls { kAll, kSyncs };
  // The `nth` such call from now on (1: the next) returns `code`; with `on`, all after it too.
  void FailAt(Calls calls, int nth, int code, bool on);
  void Heal();
  bool failed() const;  // since the last FailAt

  int reads() const;  // so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
