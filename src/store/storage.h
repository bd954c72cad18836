// What the control loop needs of the store; the program gives it the real one (store/store.h), a
// test one that fails.
//
// Thread safety: none; the control loop owns it while it runs.
#pragma once

#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "core/model.h"

namespace assay {

class Storage {
 public:
  virtual ~Storage() = default;

  // All of them durably, or none.
  virtual Status Commit(const std::vector<Record>& records) = 0;
  // What was committed.
  virtual Result<Durable> Load() = 0;
  // Nothing to do at the moment: time for housekeeping.
  virtual void Idle() = 0;
};

}  // namespace assay
