// Adapts Store to the Storage interface of the control loop.
#pragma once

#include <memory>
#include <vector>

#include "store/storage.h"
#include "store/store.h"

namespace assay {

// REQUIRES: the store outlives this object.
class StoreStorage final : public Storage {
 public:
  explicit StoreStorage(Store* store) : store_(*store) {}
  Status Commit(const std::vector<Record>& records) override { return store_.Commit(records); }
  Result<Durable> Load() override { return store_.Load(); }
  void Idle() override { store_.Idle(); }

 private:
  Store& store_;
};

}  // namespace assay
