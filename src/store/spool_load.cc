#include "store/spool_load.h"

#include <string>
#include <utility>

namespace assay::store {
namespace {

base::Status Damaged(const Database& database, std::int64_t run) {
  return base::InternalError("database " + database.file() + ": run " + std::to_string(run) +
                             " is not valid: restore a copy, or move the file away");
}

base::Status LoadRuns(Database* database, core::node::Spooled* spooled) {
  base::Result<Statement> select = Statement::Prepare(
      *database, "SELECT run, job, started, aic_deadline, p2p_deadline, kill_grace FROM runs");
  if (!select.ok()) return select.status();
  Rows rows = select->Query();
  while (rows.Next()) {
    core::node::SpooledRun run;
    run.assign.run = rows.Int(0);
    run.assign.job = rows.Text(1);
    run.started = rows.Int(2) != 0;
    run.assign.aic_deadline = rows.Int(3);
    run.assign.p2p_deadline = rows.Int(4);
    run.assign.kill_grace = rows.Int(5);
    spooled->emplace(run.assign.run, std::move(run));
  }
  return rows.status();
}

// The query returns one row for each stored op of a rank, or one row with op NULL if there is none.
base::Status LoadRanks(Database* database, core::node::Spooled* spooled) {
  base::Result<Statement> select = Statement::Prepare(
      *database,
      "SELECT k.run, k.rank, k.device, k.ops, o.op, o.begun, o.code, o.started, o.finished,"
      " o.detail, o.acked FROM ranks AS k LEFT JOIN ops AS o ON o.run = k.run AND o.rank = k.rank"
      " ORDER BY k.run, k.rank, o.op");
  if (!select.ok()) return select.status();
  Rows rows = select->Query();
  while (rows.Next()) {
    const auto found = spooled->find(rows.Int(0));
    if (found == spooled->end()) return Damaged(*database, rows.Int(0));
    std::vector<core::node::SpooledRank>& ranks = found->second.ranks;
    const auto rank = static_cast<std::int32_t>(rows.Int(1));
    if (ranks.empty() || ranks.back().assigned.rank != rank) {
      ranks.emplace_back();
      ranks.back().assigned = {rank, static_cast<std::int32_t>(rows.Int(2)),
                               core::OpSet(static_cast<std::uint8_t>(rows.Int(3)))};
    }
    if (rows.IsNull(4)) continue;
    core::node::SpooledRank& spool = ranks.back();
    const std::optional<core::Op> op = core::OpFromWire(rows.Int(4));
    if (!op) return Damaged(*database, rows.Int(0));
    if (!rows.IsNull(5)) {
      spool.begun.Add(*op);
      spool.begun_at[*op] = rows.Int(5);
    }
    if (rows.IsNull(6)) continue;
    const std::optional<core::OutcomeCode> code = core::OutcomeCodeFromInt(rows.Int(6));
    if (!code) return Damaged(*database, rows.Int(0));
    spool.answered.Add(*op);
    spool.outcomes[*op] = {*code, std::string(rows.Text(9)), rows.Int(7), rows.Int(8)};
    if (rows.Int(10) != 0) spool.acked.Add(*op);
  }
  return rows.status();
}

}  // namespace

base::Result<core::node::Spooled> LoadSpooled(Database* database) {
  core::node::Spooled spooled;
  base::Status status = LoadRuns(database, &spooled);
  if (status.ok()) status = LoadRanks(database, &spooled);
  if (!status.ok()) return status;
  return spooled;
}

}  // namespace assay::store
