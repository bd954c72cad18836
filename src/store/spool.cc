#include "store/spool.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "store/schema.h"

namespace assay::store {
namespace {

constexpr mode_t kForThisUser = 0600;

// RFC 4122, version 4.
base::Result<std::string> RandomUuid() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    const int error = errno;
    return base::InternalError("cannot get random numbers: " +
                               std::generic_category().message(error));
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back("0123456789abcdef"[bytes[i] >> 4]);
    text.push_back("0123456789abcdef"[bytes[i] & 0x0f]);
  }
  return text;
}

}  // namespace

// Writes records to the agent's tables, with the meaning that Apply (core/node/supervisor.h) gives
// them: a record about a run, rank or op that does not exist has no effect.
class SpoolWriter {
 public:
  explicit SpoolWriter(Database* database) : database_(*database) {}

  base::Status Prepare() {
    const struct {
      Statement* statement;
      const char* sql;
    } all[] = {
        {&put_run_,
         "INSERT INTO runs (run, job, started, aic_deadline, p2p_deadline, kill_grace)"
         " VALUES (?, ?, 0, ?, ?, ?) ON CONFLICT (run) DO NOTHING"},
        {&put_rank_, "INSERT INTO ranks (run, rank, device, ops) VALUES (?, ?, ?, ?)"},
        {&set_started_, "UPDATE runs SET started = 1 WHERE run = ?"},
        {&set_begun_,
         "INSERT INTO ops (run, rank, op, begun) SELECT run, rank, ?3, ?4 FROM ranks"
         " WHERE run = ?1 AND rank = ?2 AND (ops >> ?3) & 1"
         " ON CONFLICT (run, rank, op) DO UPDATE SET begun = excluded.begun"},
        {&put_outcome_,
         "INSERT INTO ops (run, rank, op, code, started, finished, detail)"
         " SELECT run, rank, ?3, ?4, ?5, ?6, ?7 FROM ranks"
         " WHERE run = ?1 AND rank = ?2 AND (ops >> ?3) & 1"
         " ON CONFLICT (run, rank, op) DO UPDATE SET code = excluded.code,"
         " started = excluded.started, finished = excluded.finished, detail = excluded.detail"
         " WHERE code IS NULL"},
        {&set_acked_,
         "UPDATE ops SET acked = 1 WHERE run = ? AND rank = ? AND op = ? AND code IS NOT NULL"},
        {&drop_run_, "DELETE FROM runs WHERE run = ?"},
    };
    for (const auto& [statement, sql] : all) {
      base::Result<Statement> prepared = Statement::Prepare(database_, sql);
      if (!prepared.ok()) return prepared.status();
      *statement = std::move(prepared).value();
    }
    return base::Status::Ok();
  }

  base::Status operator()(const core::node::SpoolRun& record) {
    const core::Assign& assign = record.assign;
    base::Status status = put_run_.Run(assign.run, assign.job, assign.aic_deadline,
                                       assign.p2p_deadline, assign.kill_grace);
    if (!status.ok() || database_.changes() == 0) return status;  // the run exists already
    for (const core::AssignedRank& rank : assign.ranks) {
      status = put_rank_.Run(assign.run, rank.rank, rank.device, rank.ops.bits());
      if (!status.ok()) return status;
    }
    return status;
  }
  base::Status operator()(const core::node::SpoolStarted& record) {
    return set_started_.Run(record.run);
  }
  base::Status operator()(const core::node::SpoolBegun& record) {
    return set_begun_.Run(record.key.run, record.key.rank, record.key.op, record.at);
  }
  base::Status operator()(const core::node::SpoolOutcome& record) {
    const core::Outcome& outcome = record.outcome;
    return put_outcome_.Run(record.key.run, record.key.rank, record.key.op, outcome.code,
                            outcome.started, outcome.finished, outcome.detail);
  }
  base::Status operator()(const core::node::SpoolAcked& record) {
    return set_acked_.Run(record.key.run, record.key.rank, record.key.op);
  }
  base::Status operator()(const core::node::SpoolDrop& record) { return drop_run_.Run(record.run); }

 private:
  Database& database_;
  Statement put_run_, put_rank_, set_started_, set_begun_, put_outcome_, set_acked_, drop_run_;
};

base::Result<std::unique_ptr<Spool>> Spool::Open(const std::string& file) {
  base::Result<std::unique_ptr<DatabaseFile>> opened =
      DatabaseFile::Open(file, SpoolSchema(), kForThisUser);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Spool> spool(new Spool(std::move(opened).value()));
  base::Status status = spool->MakeUsable();
  if (status.ok()) status = spool->ReadIdentity();
  if (!status.ok()) return status;
  return spool;
}

Spool::Spool(std::unique_ptr<DatabaseFile> file) : file_(std::move(file)) {}

Spool::~Spool() {
  const base::Status status = Close();
  if (!status.ok()) base::LogError(status.text());
}

base::Status Spool::MakeUsable() {
  if (file_->usable() && writer_ != nullptr) return base::Status::Ok();
  writer_.reset();
  if (!file_->usable()) {
    base::Status status = file_->Reopen();
    if (!status.ok()) return status;
  }
  auto writer = std::make_unique<SpoolWriter>(&file_->database());
  base::Status status = writer->Prepare();
  if (status.ok()) writer_ = std::move(writer);
  return status;
}

base::Status Spool::ReadIdentity() {
  base::Result<std::string> made = RandomUuid();
  if (!made.ok()) return made.status();
  Database& database = file_->database();
  Transaction transaction(&database);
  base::Status status = transaction.Begin(Transaction::Kind::kWrite);
  if (!status.ok()) return status;
  base::Result<Statement> insert = Statement::Prepare(
      database, "INSERT INTO agent (identity) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM agent)");
  base::Result<Statement> select = Statement::Prepare(database, "SELECT identity FROM agent");
  if (!insert.ok()) return insert.status();
  if (!select.ok()) return select.status();
  status = insert->Run(*made);
  if (!status.ok()) return status;
  {
    Rows rows = select->Query();
    if (rows.Next()) identity_ = rows.Text(0);
    if (!rows.status().ok()) return rows.status();
  }
  return transaction.Commit();
}

base::Status Spool::Commit(const std::vector<core::node::SpoolRecord>& records) {
  if (records.empty()) return base::Status::Ok();
  base::Status status = MakeUsable();
  if (status.ok()) status = file_->CheckInPlace();
  if (!status.ok()) return status;
  Transaction transaction(&file_->database());
  status = transaction.Begin(Transaction::Kind::kWrite);
  for (const core::node::SpoolRecord& record : records) {
    if (!status.ok()) return status;
    status = std::visit(*writer_, record);
  }
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) file_->AfterCommit();
  return status;
}

void Spool::Idle() { file_->Idle(); }

base::Status Spool::Close() {
  writer_.reset();
  return file_->Close();
}

}  // namespace assay::store
