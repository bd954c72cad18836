#include "store/store.h"

#include <utility>

#include "base/log.h"
#include "store/load.h"
#include "store/record_writer.h"
#include "store/schema.h"

namespace assay {
namespace {

constexpr mode_t kReadableForAll = 0644;

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const std::string& file) {
  Result<std::unique_ptr<DatabaseFile>> opened =
      DatabaseFile::Open(file, StoreSchema(), kReadableForAll);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Store> store(new Store(std::move(opened).value()));
  Status status = store->MakeUsable();
  if (!status.ok()) return status;
  return store;
}

Store::Store(std::unique_ptr<DatabaseFile> file) : file_(std::move(file)) {}

Store::~Store() {
  const Status status = Close();
  if (!status.ok()) LogError(status.text());
}

// Reopens the connection after a failure that may have left it unusable.
Status Store::MakeUsable() {
  if (file_->usable() && writer_ != nullptr) return Status::Ok();
  writer_.reset();
  if (!file_->usable()) {
    Status status = file_->Reopen();
    if (!status.ok()) return status;
  }
  Result<std::unique_ptr<RecordWriter>> writer = RecordWriter::Make(&file_->database());
  if (!writer.ok()) return writer.status();
  writer_ = std::move(writer).value();
  return Status::Ok();
}

Status Store::Commit(const std::vector<Record>& records) {
  if (records.empty()) return Status::Ok();
  Status status = MakeUsable();
  if (status.ok()) status = file_->CheckInPlace();
  if (!status.ok()) return status;
  Transaction transaction(&file_->database());
  status = transaction.Begin(Transaction::Kind::kWrite);
  if (status.ok()) status = writer_->Write(records);
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) file_->AfterCommit();
  return status;
}

Result<Durable> Store::Load() {
  Status status = MakeUsable();
  if (!status.ok()) return status;
  Transaction transaction(&file_->database());
  status = transaction.Begin(Transaction::Kind::kRead);
  if (!status.ok()) return status;
  return LoadDurable(&file_->database());
}

void Store::Idle() { file_->Idle(); }

Status Store::Close() {
  writer_.reset();
  return file_->Close();
}

}  // namespace assay
