// Adapts Store to the Storage interface of the control loop.
#pragma once

#include <memory>
#include <vector>

#include "store/storage.h"
#include "store/store.h"

namespace assay::store {

// REQUIRES: the store outlives this object.
class StoreStorage final : public Storage {
 public:
  explicit StoreStorage(Store* store) : store_(*store) {}
  base::Status Commit(const std::vector<core::Record>& records) override {
    return store_.Commit(records);
  }
  base::Result<core::Durable> Load() override { return store_.Load(); }
  void Idle() override { store_.Idle(); }

 private:
  Store& store_;
};

}  // namespace assay::store
