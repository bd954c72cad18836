// Makes disk calls of SQLite fail. Every SQLite connection opened while a FaultVfs exists goes
// through it. At most one may exist.
#pragma once

#include <memory>

namespace assay::store {

class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();  // REQUIRES: no connection is open
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // The calls that can fail: all that change the disk, or only syncs.
  enum class Calls { kAll, kSyncs };
  // The `nth` such call from now on (1: the next) returns `code`; with `on`, all later ones do,
  // too.
  void FailAt(Calls calls, int nth, int code, bool on);
  void Heal();
  bool failed() const;  // whether a call has failed since the last FailAt

  int reads() const;  // number of reads so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::store
