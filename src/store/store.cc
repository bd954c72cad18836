#include "store/store.h"

#include <utility>

#include "store/load.h"
#include "store/record_writer.h"
#include "store/schema.h"

namespace assay::store {
namespace {

constexpr mode_t kReadableForAll = 0644;

}  // namespace

base::Result<std::unique_ptr<Store>> Store::Open(const std::string& file) {
  base::Result<std::unique_ptr<DatabaseFile>> opened =
      DatabaseFile::Open(file, StoreSchema(), kReadableForAll);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Store> store(new Store(std::move(opened).value()));
  base::Status status = store->file_.MakeUsable();
  if (!status.ok()) return status;
  return store;
}

Store::Store(std::unique_ptr<DatabaseFile> file) : file_(std::move(file)) {}
Store::~Store() = default;

base::Status Store::Commit(const std::vector<core::Record>& records) {
  return file_.Commit(records);
}

base::Result<core::Durable> Store::Load() { return file_.Load(LoadDurable); }
void Store::Idle() { file_.Idle(); }
base::Status Store::Close() { return file_.Close(); }

}  // namespace assay::store
