#include "store/load.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "rank_table/hccl_json.h"
#include "store/shared_rows.h"
#include "store/text_list.h"

namespace assay::store {
namespace {

// Loads the tables one by one. The first invalid row ends the load with an error, because a
// database that a user edited or a disk damaged must not become a wrong state.
class Loader {
 public:
  explicit Loader(Database* database) : database_(*database) {}

  base::Status Load() {
    for (const auto step :
         {&Loader::LoadJobs, &Loader::LoadDeletedJobs, &Loader::LoadJobFiles,
          &Loader::LoadRankTables, &Loader::LoadJobNodes, &Loader::LoadRanks, &Loader::LoadHeaders,
          &Loader::LoadParts, &Loader::LoadRunRanks, &Loader::LoadOutcomes, &Loader::LoadNodes,
          &Loader::LoadDevices, &Loader::LoadNextRun}) {
      base::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    for (auto& [run_id, run] : durable.runs) CountOpen(&run);
    for (auto& [id, table] : tables_) durable.jobs.find(id)->second.table = std::move(table);
    return base::Status::Ok();
  }

  core::Durable durable;

 private:
  using Table = std::shared_ptr<rank_table::RankTable>;

  // Calls `each(rows)` for every row. It returns whether the row is valid.
  template <class Each>
  base::Status ForEach(const std::string& sql, const char* what, Each each) {
    base::Result<Statement> statement = Statement::Prepare(database_, sql);
    if (!statement.ok()) return statement.status();
    Rows rows = statement->Query();
    while (rows.Next()) {
      if (!each(rows)) {
        return base::InternalError("database " + database_.file() + ": " + what + " of \"" +
                                   std::string(rows.Text(0).substr(0, 100)) +
                                   "\" is not valid: restore a copy, or move the file away");
      }
    }
    return rows.status();
  }

  static bool ToInt32(std::int64_t value, std::int32_t* out) {
    *out = static_cast<std::int32_t>(value);
    return *out == value;
  }
  static bool ToOps(std::int64_t value, core::OpSet* out) {
    *out = core::OpSet(static_cast<std::uint8_t>(value));
    return out->bits() == value;
  }

  base::Status LoadJobs() {
    return ForEach(
        std::string("SELECT ") + kSpecColumns +
            ", has_trainer, created, updated, ended, last_run, last_reply, owing_until FROM jobs",
        "the job", [this](const Rows& rows) {
          core::Job job;
          if (!ReadSpec(rows, &job.spec, &job.state)) return false;
          job.has_trainer = rows.Int(7) != 0;
          job.created = rows.Int(8);
          job.updated = rows.Int(9);
          job.ended = rows.Int(10);
          job.last_run = rows.Int(11);
          job.last_reply = rows.Int(12);
          job.owing_until = rows.Int(13);
          job.hccl = not_ready_;
          tables_[job.spec.id] = std::make_shared<rank_table::RankTable>();
          durable.jobs.emplace(job.spec.id, std::move(job));
          return true;
        });
  }

  base::Status LoadDeletedJobs() {
    return ForEach(
        std::string("SELECT ") + kSpecColumns + ", created, deleted, hccl FROM deleted_jobs",
        "the deleted job", [this](const Rows& rows) {
          core::DeletedJob job;
          if (!ReadSpec(rows, &job.spec, &job.state)) return false;
          job.created = rows.Int(7);
          job.deleted = rows.Int(8);
          job.hccl = std::make_shared<const std::string>(rows.Text(9));
          durable.deleted.emplace(job.spec.id, std::move(job));
          return true;
        });
  }

  base::Status LoadJobFiles() {
    return ForEach("SELECT job, print, owner FROM job_files", "the file of the job",
                   [this](const Rows& rows) {
                     durable.job_files.emplace(
                         rows.Text(0), core::JobFile{std::string(rows.Text(1)), rows.Int(2) != 0});
                     return true;
                   });
  }

  base::Status LoadRankTables() {
    return ForEach("SELECT job, warnings, text FROM rank_tables", "the rank table of the job",
                   [this](const Rows& rows) {
                     const auto job = durable.jobs.find(rows.Text(0));
                     std::optional<std::vector<std::string>> warnings = SplitTexts(rows.Text(1));
                     if (job == durable.jobs.end() || !warnings) return false;
                     tables_[job->first]->warnings = *std::move(warnings);
                     job->second.table_text = rows.Text(2);
                     return MakeHccl(&job->second);
                   });
  }

  // Derives `hccl` from the text of the table, which was accepted when it was stored.
  static bool MakeHccl(core::Job* job) {
    if (job->table_text.empty()) return true;
    const rank_table::TableReading reading = rank_table::ReadRankTable(job->table_text, "");
    if (!reading.accepted()) return false;
    job->hccl = std::make_shared<const std::string>(HcclJson(job->table_text, reading.table));
    return true;
  }

  // The table of `job`. It is cached, because the rows of one job follow each other.
  rank_table::RankTable* TableOf(std::string_view job) {
    if (table_ == nullptr || job != table_job_) {
      const auto found = tables_.find(std::string(job));
      if (found == tables_.end()) return nullptr;
      table_job_ = found->first;
      table_ = found->second.get();
      node_index_.clear();
      for (const rank_table::TableNode& node : table_->nodes) {
        node_index_.emplace(node.name, static_cast<std::uint32_t>(node_index_.size()));
      }
    }
    return table_;
  }

  base::Status LoadJobNodes() {
    base::Status status =
        ForEach("SELECT job, node, aliases FROM job_nodes ORDER BY job, position",
                "a node of the job", [this](const Rows& rows) {
                  rank_table::RankTable* table = TableOf(rows.Text(0));
                  std::optional<std::vector<std::string>> aliases = SplitTexts(rows.Text(2));
                  if (table == nullptr || !aliases) return false;
                  table->nodes.push_back({std::string(rows.Text(1)), *std::move(aliases)});
                  return true;
                });
    table_ = nullptr;
    return status;
  }

  base::Status LoadRanks() {
    return ForEach("SELECT job, rank, node, device FROM ranks ORDER BY job, rank",
                   "a rank of the job", [this](const Rows& rows) {
                     rank_table::RankTable* table = TableOf(rows.Text(0));
                     if (table == nullptr) return false;
                     const auto node = node_index_.find(rows.Text(2));
                     rank_table::RankPlace place;
                     if (node == node_index_.end() || !ToInt32(rows.Int(1), &place.rank) ||
                         !ToInt32(rows.Int(3), &place.device)) {
                       return false;
                     }
                     place.node = node->second;
                     table->ranks.push_back(place);
                     return true;
                   });
  }

  base::Status LoadHeaders() {
    return ForEach(
        "SELECT run, job, state, executor, ops, ranks, expected, cancelled, created, notify_after,"
        " start_by, started, deadline, ended, message FROM runs"
        " WHERE state <> 'closed' OR run IN"
        " (SELECT j.last_run FROM jobs AS j JOIN runs AS r ON r.run = j.last_run AND r.job = "
        "j.job)",
        "the run", [this](const Rows& rows) {
          core::Run run;
          run.id = rows.Int(0);
          run.job = rows.Text(1);
          const std::optional<core::RunState> state = core::RunStateFromName(rows.Text(2));
          const std::optional<core::Executor> executor = core::ExecutorFromName(rows.Text(3));
          if (!state || !executor || !ToOps(rows.Int(4), &run.ops)) return false;
          run.state = *state;
          run.executor = *executor;
          run.rank_count = rows.Int(5);
          run.expected = rows.Int(6);
          run.cancelled = rows.Int(7) != 0;
          run.created = rows.Int(8);
          run.notify_after = rows.Int(9);
          run.start_by = rows.Int(10);
          run.started = rows.Int(11);
          run.deadline = rows.Int(12);
          run.ended = rows.Int(13);
          run.message = rows.Text(14);
          durable.runs.emplace(run.id, std::move(run));
          return true;
        });
  }

  core::Run* OpenRun(core::RunId id) {
    if (run_ == nullptr || run_->id != id) {
      const auto found = durable.runs.find(id);
      if (found == durable.runs.end()) return nullptr;
      run_ = &found->second;
      rank_ = 0;
    }
    return run_->state == core::RunState::kClosed ? nullptr : run_;
  }

  // CROSS JOIN makes SQLite go from the few open runs to their rows; it must not scan all rows ever
  // stored.
  base::Status LoadParts() {
    return ForEach(
        "SELECT p.run, p.part, p.node, p.agent, p.identity, p.state"
        " FROM runs AS r CROSS JOIN run_parts AS p ON p.run = r.run WHERE r.state <> 'closed'"
        " ORDER BY r.run, p.part",
        "a part of the run", [this](const Rows& rows) {
          core::Run* run = OpenRun(rows.Int(0));
          const std::optional<core::PartState> state = core::PartStateFromName(rows.Text(5));
          if (run == nullptr || !state ||
              rows.Int(1) != static_cast<std::int64_t>(run->parts.size())) {
            return false;
          }
          run->parts.push_back({std::string(rows.Text(2)), std::string(rows.Text(3)),
                                std::string(rows.Text(4)), *state});
          return true;
        });
  }

  base::Status LoadRunRanks() {
    return ForEach(
        "SELECT k.run, k.rank, k.part, k.device, k.ops, k.begun, k.deadline"
        " FROM runs AS r CROSS JOIN run_ranks AS k ON k.run = r.run WHERE r.state <> 'closed'"
        " ORDER BY r.run, k.rank",
        "a rank of the run", [this](const Rows& rows) {
          core::Run* run = OpenRun(rows.Int(0));
          core::RankTest test;
          if (run == nullptr || !ToInt32(rows.Int(1), &test.rank) || rows.Int(2) < 0 ||
              rows.Int(2) >= static_cast<std::int64_t>(run->parts.size()) ||
              !ToInt32(rows.Int(3), &test.device) || !ToOps(rows.Int(4), &test.ops) ||
              !ToOps(rows.Int(5), &test.begun)) {
            return false;
          }
          test.part = static_cast<std::uint32_t>(rows.Int(2));
          test.deadline = rows.Int(6);
          run->ranks.push_back(std::move(test));
          return true;
        });
  }

  base::Status LoadOutcomes() {
    run_ = nullptr;
    return ForEach(
        "SELECT o.run, o.rank, o.op, o.code, o.started, o.finished, o.detail"
        " FROM runs AS r CROSS JOIN outcomes AS o ON o.run = r.run WHERE r.state <> 'closed'"
        " ORDER BY r.run, o.rank, o.op",
        "an outcome of the run", [this](const Rows& rows) {
          core::Run* run = OpenRun(rows.Int(0));
          const std::optional<core::Op> op = core::OpFromWire(rows.Int(2));
          const std::optional<core::OutcomeCode> code = core::OutcomeCodeFromInt(rows.Int(3));
          if (run == nullptr || !op || !code) return false;
          // Outcomes and ranks are both in order of rank.
          while (rank_ < run->ranks.size() && run->ranks[rank_].rank < rows.Int(1)) ++rank_;
          if (rank_ == run->ranks.size() || run->ranks[rank_].rank != rows.Int(1)) return false;
          core::RankTest& test = run->ranks[rank_];
          test.answered.Add(*op);
          test.outcomes[*op] = {*code, std::string(rows.Text(6)), rows.Int(4), rows.Int(5)};
          return true;
        });
  }

  static void CountOpen(core::Run* run) {
    run->open = 0;
    for (const core::RankTest& test : run->ranks)
      run->open += test.ops.size() - test.answered.size();
  }

  base::Status LoadNodes() {
    return ForEach(std::string("SELECT ") + kNodeColumns + " FROM nodes", "the node",
                   [this](const Rows& rows) {
                     core::Node node;
                     if (!ReadNode(rows, &node)) return false;
                     durable.nodes.emplace(node.name, std::move(node));
                     return true;
                   });
  }

  base::Status LoadDevices() {
    return ForEach(
        "SELECT node, device, position, kind, detail, run FROM devices ORDER BY node, position",
        "a device of the node", [this](const Rows& rows) {
          core::DeviceInfo device;
          if (!ToInt32(rows.Int(1), &device.index)) return false;
          if (!rows.IsNull(5)) {
            durable.leases.emplace(core::DeviceKey{std::string(rows.Text(0)), device.index},
                                   rows.Int(5));
          }
          if (rows.IsNull(2)) return true;
          const auto node = durable.nodes.find(rows.Text(0));
          if (node == durable.nodes.end()) return false;
          device.kind = rows.Text(3);
          device.detail = rows.Text(4);
          node->second.devices.push_back(std::move(device));
          return true;
        });
  }

  base::Status LoadNextRun() {
    durable.next_run = core::kNoRun;
    base::Status status = ForEach(
        "SELECT next_run, typeof(next_run), (SELECT ifnull(max(run), 0) FROM runs) FROM cluster",
        "the next run number", [this](const Rows& rows) {
          const bool valid = durable.next_run == core::kNoRun && rows.Text(1) == "integer" &&
                             rows.Int(0) > rows.Int(2);
          durable.next_run = rows.Int(0);
          return valid;
        });
    if (!status.ok() || durable.next_run != core::kNoRun) return status;
    return base::InternalError("database " + database_.file() +
                               ": the table \"cluster\" has no row: restore a copy, or move the "
                               "file away");
  }

  Database& database_;
  const std::shared_ptr<const std::string> not_ready_ =
      std::make_shared<const std::string>(rank_table::kHcclInitializing);
  std::unordered_map<std::string, Table> tables_;  // by job

  // Position in the rows of the current query.
  std::string table_job_;
  rank_table::RankTable* table_ = nullptr;
  std::unordered_map<std::string_view, std::uint32_t> node_index_;
  core::Run* run_ = nullptr;
  std::size_t rank_ = 0;
};

}  // namespace

base::Result<core::Durable> LoadDurable(Database* database) {
  Loader loader(database);
  base::Status status = loader.Load();
  if (!status.ok()) return status;
  return std::move(loader.durable);
}

}  // namespace assay::store
