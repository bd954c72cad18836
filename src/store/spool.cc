#include "store/spool.h"

#include <utility>

#include "base/uuid.h"
#include "store/schema.h"
#include "store/spool_load.h"

namespace assay::store {
namespace {

constexpr mode_t kForThisUser = 0600;

}  // namespace

// Writes records to the agent's tables, with the meaning that Apply (core/node/supervisor.h) gives
// them: a record about a run, rank or op that does not exist has no effect.
class SpoolWriter {
 public:
  static base::Result<std::unique_ptr<SpoolWriter>> Make(Database* database) {
    std::unique_ptr<SpoolWriter> writer(new SpoolWriter(database));
    base::Status status = writer->Prepare();
    if (!status.ok()) return status;
    return writer;
  }

  // REQUIRES: within a transaction; on an error it must be rolled back.
  base::Status Write(const std::vector<core::node::SpoolRecord>& records) {
    for (const core::node::SpoolRecord& record : records) {
      base::Status status = std::visit(*this, record);
      if (!status.ok()) return status;
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

  Database& database_;
  Statement put_run_, put_rank_, set_started_, set_begun_, put_outcome_, set_acked_, drop_run_;
};

base::Result<std::unique_ptr<Spool>> Spool::Open(const std::string& file) {
  base::Result<std::unique_ptr<DatabaseFile>> opened =
      DatabaseFile::Open(file, SpoolSchema(), kForThisUser);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Spool> spool(new Spool(std::move(opened).value()));
  base::Status status = spool->file_.MakeUsable();
  if (status.ok()) status = spool->ReadIdentity();
  if (!status.ok()) return status;
  return spool;
}

Spool::Spool(std::unique_ptr<DatabaseFile> file) : file_(std::move(file)) {}
Spool::~Spool() = default;

base::Status Spool::ReadIdentity() {
  Database& database = file_.database();
  Transaction transaction(&database);
  base::Status status = transaction.Begin(Transaction::Kind::kWrite);
  if (!status.ok()) return status;
  base::Result<Statement> insert = Statement::Prepare(
      database, "INSERT INTO agent (identity) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM agent)");
  base::Result<Statement> select = Statement::Prepare(database, "SELECT identity FROM agent");
  if (!insert.ok()) return insert.status();
  if (!select.ok()) return select.status();
  status = insert->Run(base::RandomUuid());
  if (!status.ok()) return status;
  {
    Rows rows = select->Query();
    if (rows.Next()) identity_ = rows.Text(0);
    if (!rows.status().ok()) return rows.status();
  }
  return transaction.Commit();
}

base::Status Spool::Commit(const std::vector<core::node::SpoolRecord>& records) {
  return file_.Commit(records);
}

base::Result<core::node::Spooled> Spool::Load() { return file_.Load(LoadSpooled); }
void Spool::Idle() { file_.Idle(); }
base::Status Spool::Close() { return file_.Close(); }

}  // namespace assay::store
