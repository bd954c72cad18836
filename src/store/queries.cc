#include "store/queries.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "store/outcome_columns.h"
#include "store/shared_rows.h"

namespace assay::store {
namespace {

std::string SelectJobs() {
  return std::string("SELECT ") + kSpecColumns +
         ", ranks, nodes, created, updated, last_run FROM jobs ";
}

// The counts of closed runs are stored. Those of open runs are computed here.
std::string SelectRuns() {
  return "SELECT run, job, state, executor, ops, ranks, expected, created, started, ended,"
         " deadline, " +
         OutcomeColumns([](const std::string& name, const std::string& code) {
           return "coalesce(" + name +
                  ", (SELECT count(*) FROM outcomes AS o WHERE o.run = runs.run"
                  " AND o.code = " +
                  code + "))";
         });
}

int PageSize(int limit) {
  return limit <= 0 ? Queries::kPageDefault : std::min(limit, Queries::kPageMax);
}

JobRow ToJob(const Rows& rows) {
  JobRow job;
  (void)ReadSpec(rows, &job.spec, &job.state);  // an unknown state is shown as pending
  job.rank_count = rows.Int(7);
  job.node_count = rows.Int(8);
  job.created = rows.Int(9);
  job.updated = rows.Int(10);
  job.last_run = rows.Int(11);
  return job;
}

RunRow ToRun(const Rows& rows) {
  RunRow run;
  run.id = rows.Int(0);
  run.job = rows.Text(1);
  run.state = core::RunStateFromName(rows.Text(2)).value_or(core::RunState::kAccepted);
  run.executor = core::ExecutorFromName(rows.Text(3)).value_or(core::Executor::kAgent);
  run.ops = core::OpSet(static_cast<std::uint8_t>(rows.Int(4)));
  run.rank_count = rows.Int(5);
  run.expected = rows.Int(6);
  run.created = rows.Int(7);
  run.started = rows.Int(8);
  run.ended = rows.Int(9);
  run.deadline = rows.Int(10);
  for (int code = 0; code < core::kOutcomeCodes; ++code) {
    run.by_code[static_cast<std::size_t>(code)] = rows.Int(11 + code);
    run.answered += rows.Int(11 + code);
  }
  return run;
}

base::Status NoRun(core::RunId run) {
  return base::NotFoundError("run " + std::to_string(run) +
                             " does not exist; `assay run list` shows the runs");
}

}  // namespace

base::Result<std::unique_ptr<Queries>> Queries::Open(const std::string& file) {
  std::unique_ptr<Queries> queries(new Queries(file));
  base::Status status = queries->Connect();
  if (!status.ok()) return status;
  return queries;
}

base::Status Queries::Connect() {
  if (database_ != nullptr && !database_->must_reopen() && !database_->in_transaction()) {
    return base::Status::Ok();
  }
  database_.reset();
  base::Result<std::unique_ptr<Database>> opened =
      Database::Open(file_, Database::Access::kReadOnly);
  if (!opened.ok()) return opened.status();
  base::Status status = (*opened)->SetPragma("query_only", 1);
  if (!status.ok()) return status;
  database_ = std::move(opened).value();
  return base::Status::Ok();
}

template <class T, class Read>
base::Result<T> Queries::InTransaction(Read read) {
  base::Status status = Connect();
  if (!status.ok()) return status;
  Transaction transaction(database_.get());
  status = transaction.Begin(Transaction::Kind::kRead);
  T answer{};
  if (status.ok()) status = read(&answer);
  if (!status.ok()) return status;
  return answer;
}

// --- Jobs ----------------------------------------------------------------------------------------

base::Result<Page<JobRow>> Queries::ListJobs(std::string_view after, int limit) {
  return InTransaction<Page<JobRow>>([&](Page<JobRow>* page) {
    const int size = PageSize(limit);
    base::Result<Statement> select =
        Statement::Prepare(*database_, SelectJobs() + "WHERE job > ? ORDER BY job LIMIT ?");
    if (!select.ok()) return select.status();
    Rows rows = select->Query(after, size + 1);
    while (rows.Next()) {
      page->more = static_cast<int>(page->rows.size()) == size;
      if (!page->more) page->rows.push_back(ToJob(rows));
    }
    return rows.status();
  });
}

base::Result<JobRow> Queries::GetJob(std::string_view id) {
  return InTransaction<JobRow>([&](JobRow* job) {
    base::Result<Statement> select = Statement::Prepare(*database_, SelectJobs() + "WHERE job = ?");
    if (!select.ok()) return select.status();
    Rows rows = select->Query(id);
    if (!rows.Next()) {
      if (!rows.status().ok()) return rows.status();
      return base::NotFoundError("job " + std::string(id.substr(0, 200)) +
                                 " does not exist; `assay job list` shows the jobs");
    }
    *job = ToJob(rows);
    return ReadRanks(id, &job->ranks);
  });
}

base::Status Queries::ReadRanks(std::string_view job, std::vector<RankRow>* ranks) {
  base::Result<Statement> select = Statement::Prepare(
      *database_, "SELECT rank, node, device FROM ranks WHERE job = ? ORDER BY rank");
  if (!select.ok()) return select.status();
  Rows rows = select->Query(job);
  while (rows.Next()) {
    ranks->push_back({static_cast<std::int32_t>(rows.Int(0)), std::string(rows.Text(1)),
                      static_cast<std::int32_t>(rows.Int(2))});
  }
  return rows.status();
}

// --- Runs ----------------------------------------------------------------------------------------

base::Result<Page<RunRow>> Queries::ListRuns(std::string_view job, core::RunId before, int limit) {
  return InTransaction<Page<RunRow>>([&](Page<RunRow>* page) {
    const int size = PageSize(limit);
    const core::RunId below =
        before == core::kNoRun ? std::numeric_limits<core::RunId>::max() : before;
    const char* which = job.empty()
                            ? " FROM runs WHERE ? = '' AND run < ? ORDER BY run DESC LIMIT ?"
                            : " FROM runs WHERE job = ? AND run < ? ORDER BY run DESC LIMIT ?";
    base::Result<Statement> select = Statement::Prepare(*database_, SelectRuns() + which);
    if (!select.ok()) return select.status();
    Rows rows = select->Query(job, below, size + 1);
    while (rows.Next()) {
      page->more = static_cast<int>(page->rows.size()) == size;
      if (!page->more) page->rows.push_back(ToRun(rows));
    }
    return rows.status();
  });
}

base::Status Queries::ReadRun(core::RunId run, RunRow* row) {
  base::Result<Statement> select =
      Statement::Prepare(*database_, SelectRuns() + ", message FROM runs WHERE run = ?");
  if (!select.ok()) return select.status();
  Rows rows = select->Query(run);
  if (rows.Next()) {
    *row = ToRun(rows);
    row->message = rows.Text(11 + core::kOutcomeCodes);
    return base::Status::Ok();
  }
  return rows.status().ok() ? NoRun(run) : rows.status();
}

base::Result<RunRow> Queries::GetRunOnly(core::RunId run) {
  return InTransaction<RunRow>([&](RunRow* row) { return ReadRun(run, row); });
}

base::Result<RunResults> Queries::GetRun(core::RunId run, std::int32_t from_rank, int limit) {
  return InTransaction<RunResults>([&](RunResults* results) {
    base::Status status = ReadRun(run, &results->run);
    if (!status.ok()) return status;
    return ReadResults(run, from_rank, PageSize(limit), results);
  });
}

base::Status Queries::ReadResults(core::RunId run, std::int32_t from_rank, int limit,
                                  RunResults* results) {
  base::Result<Statement> ranks =
      Statement::Prepare(*database_,
                         "SELECT rank, node, device, ops FROM run_ranks WHERE run = ? AND rank >= ?"
                         " ORDER BY rank LIMIT ?");
  base::Result<Statement> outcomes = Statement::Prepare(
      *database_,
      "SELECT code, detail, started, finished FROM outcomes WHERE run = ? AND rank = ? AND op = ?");
  if (!ranks.ok()) return ranks.status();
  if (!outcomes.ok()) return outcomes.status();
  Rows rows = ranks->Query(run, from_rank, limit + 1);
  for (int count = 0; rows.Next(); ++count) {
    ResultRow row;
    row.rank = static_cast<std::int32_t>(rows.Int(0));
    if (count == limit) {
      results->next_rank = row.rank;
      break;
    }
    row.node = rows.Text(1);
    row.device = static_cast<std::int32_t>(rows.Int(2));
    const core::OpSet ops(static_cast<std::uint8_t>(rows.Int(3)));
    for (const core::Op op : ops) {
      row.op = op;
      row.outcome.reset();
      Rows outcome = outcomes->Query(run, row.rank, op);
      if (outcome.Next()) {
        row.outcome = core::Outcome{
            core::OutcomeCodeFromInt(outcome.Int(0)).value_or(core::OutcomeCode::kNotRun),
            std::string(outcome.Text(1)), outcome.Int(2), outcome.Int(3)};
      }
      if (!outcome.status().ok()) return outcome.status();
      results->results.push_back(row);
    }
  }
  return rows.status();
}

base::Result<std::string> Queries::RunMessage(core::RunId run) {
  return InTransaction<std::string>([&](std::string* message) {
    base::Result<Statement> select =
        Statement::Prepare(*database_, "SELECT message FROM runs WHERE run = ?");
    if (!select.ok()) return select.status();
    Rows rows = select->Query(run);
    if (rows.Next()) {
      *message = rows.Text(0);
      return base::Status::Ok();
    }
    return rows.status().ok() ? NoRun(run) : rows.status();
  });
}

// --- Nodes ---------------------------------------------------------------------------------------

base::Result<std::vector<NodeRow>> Queries::ListNodes() {
  return InTransaction<std::vector<NodeRow>>([&](std::vector<NodeRow>* nodes) {
    base::Result<Statement> select = Statement::Prepare(
        *database_, std::string("SELECT ") + kNodeColumns + " FROM nodes ORDER BY node");
    base::Result<Statement> devices = Statement::Prepare(
        *database_,
        "SELECT device, kind, detail, run FROM devices WHERE node = ? AND position IS NOT NULL"
        " ORDER BY position");
    if (!select.ok()) return select.status();
    if (!devices.ok()) return devices.status();
    Rows rows = select->Query();
    while (rows.Next()) {
      NodeRow row;
      (void)ReadNode(rows, &row.node);  // an invalid list of addresses is shown as empty
      Rows each = devices->Query(row.node.name);
      while (each.Next()) {
        row.devices.push_back({{static_cast<std::int32_t>(each.Int(0)), std::string(each.Text(1)),
                                std::string(each.Text(2))},
                               each.Int(3)});
      }
      if (!each.status().ok()) return each.status();
      nodes->push_back(std::move(row));
    }
    return rows.status();
  });
}

}  // namespace assay::store
