// A database file together with the prepared statements that write records to it. Store and Spool
// are built on it.
//
// Writer has
//   static base::Result<std::unique_ptr<Writer>> Make(Database* database);
//   base::Status Write(const std::vector<Record>& records);
//
// Invariants: a failed Commit changes nothing, and the next call makes the file usable again.
// Thread safety: none.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "store/database_file.h"

namespace assay::store {

template <class Writer>
class RecordFile {
 public:
  explicit RecordFile(std::unique_ptr<DatabaseFile> file) : file_(std::move(file)) {}
  ~RecordFile() {
    const base::Status status = Close();
    if (!status.ok()) base::LogError(status.text());
  }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  const DatabaseFile& file() const { return *file_; }
  Database& database() { return file_->database(); }  // REQUIRES: MakeUsable succeeded

  // Opens the connection again after a failure that may have left it unusable.
  base::Status MakeUsable() {
    if (file_->usable() && writer_ != nullptr) return base::Status::Ok();
    writer_.reset();
    if (!file_->usable()) {
      base::Status status = file_->Reopen();
      if (!status.ok()) return status;
    }
    base::Result<std::unique_ptr<Writer>> writer = Writer::Make(&file_->database());
    if (!writer.ok()) return writer.status();
    writer_ = std::move(writer).value();
    return base::Status::Ok();
  }

  // Stores all records in one transaction, or none.
  template <class Record>
  base::Status Commit(const std::vector<Record>& records) {
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

  // Calls load() in a transaction that sees one committed state.
  template <class State>
  base::Result<State> Load(base::Result<State> (*load)(Database* database)) {
    base::Status status = MakeUsable();
    if (!status.ok()) return status;
    Transaction transaction(&file_->database());
    status = transaction.Begin(Transaction::Kind::kRead);
    if (!status.ok()) return status;
    return load(&file_->database());
  }

  void Idle() { file_->Idle(); }

  base::Status Close() {
    writer_.reset();
    return file_->Close();
  }

 private:
  const std::unique_ptr<DatabaseFile> file_;
  std::unique_ptr<Writer> writer_;  // null: the next call makes it usable again
};

}  // namespace assay::store
