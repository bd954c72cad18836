// The interface through which the control loop stores its state. The program passes the real store
// (store/store_storage.h), a test can pass one that fails.
//
// Thread safety: none; the control loop owns it while it runs.
#pragma once

#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "core/model.h"

namespace assay::store {

class Storage {
 public:
  virtual ~Storage() = default;

  // Stores all records durably, or none.
  virtual base::Status Commit(const std::vector<core::Record>& records) = 0;
  // Returns what was committed.
  virtual base::Result<core::Durable> Load() = 0;
  // Does housekeeping. The control loop calls it while there is no work.
  virtual void Idle() = 0;
};

}  // namespace assay::store
