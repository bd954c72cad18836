#include "store/store.h"

#include <utility>

#include "base/log.h"
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
  base::Status status = store->MakeUsable();
  if (!status.ok()) return status;
  return store;
}

Store::Store(std::unique_ptr<DatabaseFile> file) : file_(std::move(file)) {}

Store::~Store() {
  const base::Status status = Close();
  if (!status.ok()) base::LogError(status.text());
}

// Reopens the connection after a failure that may have left it unusable.
base::Status Store::MakeUsable() {
  if (file_->usable() && writer_ != nullptr) return base::Status::Ok();
  writer_.reset();
  if (!file_->usable()) {
    base::Status status = file_->Reopen();
    if (!status.ok()) return status;
  }
  base::Result<std::unique_ptr<RecordWriter>> writer = RecordWriter::Make(&file_->database());
  if (!writer.ok()) return writer.status();
  writer_ = std::move(writer).value();
  return base::Status::Ok();
}

base::Status Store::Commit(const std::vector<core::Record>& records) {
  if (records.empty()) return base::Status::Ok();
  base::Status status = MakeUsable();
  if (status.ok()) status = file_->CheckInPlace();
  if (!status.ok()) return status;
  Transaction transaction(&file_->database());
  status = transaction.Begin(Transaction::Kind::kWrite);
  if (status.ok()) status = writer_->Write(records);
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) file_->AfterCommit();
  return status;
}

base::Result<core::Durable> Store::Load() {
  base::Status status = MakeUsable();
  if (!status.ok()) return status;
  Transaction transaction(&file_->database());
  status = transaction.Begin(Transaction::Kind::kRead);
  if (!status.ok()) return status;
  return LoadDurable(&file_->database());
}

void Store::Idle() { file_->Idle(); }

base::Status Store::Close() {
  writer_.reset();
  return file_->Close();
}

}  // namespace assay::store
