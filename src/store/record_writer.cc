#include "store/record_writer.h"

#include <optional>
#include <string>

#include "store/outcome_columns.h"
#include "store/text_list.h"
#include "store/utc.h"

namespace assay::store {
namespace {

constexpr char kPutJob[] =
    "INSERT INTO jobs (job, name, namespace, framework, state, master_addr, shared_tor_ip, ranks,"
    " nodes, has_trainer, created, updated, ended, last_run, last_reply, owing_until)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (job) DO UPDATE SET name = excluded.name, namespace = excluded.namespace,"
    " framework = excluded.framework, state = excluded.state, master_addr = excluded.master_addr,"
    " shared_tor_ip = excluded.shared_tor_ip, ranks = excluded.ranks, nodes = excluded.nodes,"
    " has_trainer = excluded.has_trainer, created = excluded.created, updated = excluded.updated,"
    " ended = excluded.ended, last_run = excluded.last_run, last_reply = excluded.last_reply,"
    " owing_until = excluded.owing_until";
// A new header clears the counts; CountClosed stores them again.
constexpr char kPutRun[] =
    "INSERT INTO runs (run, job, state, executor, ops, ranks, expected, cancelled, created,"
    " notify_after, start_by, started, deadline, ended, message)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run) DO UPDATE SET job = excluded.job, state = excluded.state,"
    " executor = excluded.executor, ops = excluded.ops, ranks = excluded.ranks,"
    " expected = excluded.expected, cancelled = excluded.cancelled, created = excluded.created,"
    " notify_after = excluded.notify_after, start_by = excluded.start_by,"
    " started = excluded.started, deadline = excluded.deadline, ended = excluded.ended,"
    " answered_ranks = NULL, faulty_ranks = NULL, ok = NULL, not_run = NULL, faulty = NULL,"
    " timeout = NULL, voltage_not_restored = NULL, message = excluded.message";
constexpr char kPutNode[] =
    "INSERT INTO nodes (node, attached, since, identity, version, host_name, fqdn, driver,"
    " addresses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (node) DO UPDATE SET attached = excluded.attached, since = excluded.since,"
    " identity = excluded.identity, version = excluded.version, host_name = excluded.host_name,"
    " fqdn = excluded.fqdn, driver = excluded.driver, addresses = excluded.addresses";

// A field that does not apply to an event is NULL.
std::optional<std::string_view> IfAny(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace

base::Result<std::unique_ptr<RecordWriter>> RecordWriter::Make(Database* database) {
  std::unique_ptr<RecordWriter> writer(new RecordWriter);
  base::Status status = writer->PrepareJobs(database);
  if (status.ok()) status = writer->PrepareRuns(database);
  if (status.ok()) status = writer->PrepareNodes(database);
  if (!status.ok()) return status;
  return writer;
}

struct RecordWriter::Named {
  Statement* statement;
  const char* sql;
};

base::Status RecordWriter::PrepareAll(Database* database, std::span<const Named> all) {
  for (const Named& one : all) {
    base::Result<Statement> prepared = Statement::Prepare(*database, one.sql);
    if (!prepared.ok()) return prepared.status();
    *one.statement = std::move(prepared).value();
  }
  return base::Status::Ok();
}

base::Status RecordWriter::PrepareJobs(Database* database) {
  const Named all[] = {
      {&sql_.put_job, kPutJob},
      {&sql_.drop_job, "DELETE FROM jobs WHERE job = ?"},
      {&sql_.drop_table, "DELETE FROM rank_tables WHERE job = ?"},
      {&sql_.drop_job_nodes, "DELETE FROM job_nodes WHERE job = ?"},
      {&sql_.drop_ranks, "DELETE FROM ranks WHERE job = ?"},
      {&sql_.put_table, "INSERT INTO rank_tables (job, warnings, text) VALUES (?, ?, ?)"},
      {&sql_.put_job_node,
       "INSERT INTO job_nodes (job, position, node, aliases) VALUES (?, ?, ?, ?)"},
      {&sql_.put_rank, "INSERT INTO ranks (job, rank, node, device) VALUES (?, ?, ?, ?)"},
      {&sql_.put_deleted,
       "INSERT OR REPLACE INTO deleted_jobs (job, name, namespace, framework, state, master_addr,"
       " shared_tor_ip, created, deleted, hccl) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&sql_.drop_deleted, "DELETE FROM deleted_jobs WHERE job = ?"},
      {&sql_.put_job_file, "INSERT OR REPLACE INTO job_files (job, print, owner) VALUES (?, ?, ?)"},
      {&sql_.drop_job_file, "DELETE FROM job_files WHERE job = ?"},
  };
  return PrepareAll(database, all);
}

base::Status RecordWriter::PrepareRuns(Database* database) {
  const std::string set_counts =
      "UPDATE runs SET answered_ranks = ?, faulty_ranks = ?, " +
      OutcomeColumns([](const std::string& name, const std::string&) { return name + " = ?"; }) +
      " WHERE run = ?";
  const Named all[] = {
      {&sql_.put_run, kPutRun},
      {&sql_.drop_parts, "DELETE FROM run_parts WHERE run = ?"},
      {&sql_.drop_run_ranks, "DELETE FROM run_ranks WHERE run = ?"},
      {&sql_.put_part,
       "INSERT INTO run_parts (run, part, node, agent, identity, state) VALUES (?, ?, ?, ?, ?, ?)"
       " ON CONFLICT (run, part) DO UPDATE SET node = excluded.node, agent = excluded.agent,"
       " identity = excluded.identity, state = excluded.state"},
      {&sql_.put_run_rank,
       "INSERT INTO run_ranks (run, rank, part, node, device, ops, begun, deadline)"
       " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
      {&sql_.set_rank, "UPDATE run_ranks SET begun = ?, deadline = ? WHERE run = ? AND rank = ?"},
      {&sql_.set_starts, "UPDATE run_ranks SET deadline = ? WHERE run = ? AND deadline = 0"},
      {&sql_.put_outcome,
       "INSERT INTO outcomes (run, rank, op, code, started, finished, detail)"
       " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, rank, op) DO NOTHING"},
      {&sql_.is_closed, "SELECT state = 'closed' FROM runs WHERE run = ?"},
      {&sql_.select_ranks,
       "SELECT k.rank, k.ops, o.op, o.code FROM run_ranks AS k"
       " LEFT JOIN outcomes AS o ON o.run = k.run AND o.rank = k.rank"
       " WHERE k.run = ? ORDER BY k.rank"},
      {&sql_.set_counts, set_counts.c_str()},
      {&sql_.use_number, "UPDATE cluster SET next_run = ?1 + 1 WHERE next_run <= ?1"},
  };
  return PrepareAll(database, all);
}

base::Status RecordWriter::PrepareNodes(Database* database) {
  const Named all[] = {
      {&sql_.put_node, kPutNode},
      {&sql_.drop_node, "DELETE FROM nodes WHERE node = ?"},
      {&sql_.unlist_devices,
       "UPDATE devices SET position = NULL, kind = '', detail = '' WHERE node = ?"},
      {&sql_.drop_unlisted,
       "DELETE FROM devices WHERE node = ? AND position IS NULL AND run IS NULL"},
      {&sql_.put_device,
       "INSERT INTO devices (node, device, position, kind, detail) VALUES (?, ?, ?, ?, ?)"
       " ON CONFLICT (node, device) DO UPDATE SET position = excluded.position,"
       " kind = excluded.kind, detail = excluded.detail"},
      {&sql_.put_lease,
       "INSERT INTO devices (node, device, position, kind, detail, run)"
       " VALUES (?, ?, NULL, '', '', ?) ON CONFLICT (node, device) DO UPDATE SET run = "
       "excluded.run"},
      {&sql_.drop_lease, "UPDATE devices SET run = NULL WHERE node = ? AND device = ?"},
      {&sql_.drop_unlisted_device,
       "DELETE FROM devices WHERE node = ? AND device = ? AND position IS NULL"},
      {&sql_.add_event,
       "INSERT INTO events (time, kind, job, run, node, text) VALUES (?, ?, ?, ?, ?, ?)"},
  };
  return PrepareAll(database, all);
}

base::Status RecordWriter::Write(const std::vector<core::Record>& records) {
  touched_.clear();
  for (const core::Record& record : records) {
    base::Status status = std::visit(*this, record);
    if (!status.ok()) return status;
  }
  for (const core::RunId run : touched_) {
    base::Status status = CountClosed(run);
    if (!status.ok()) return status;
  }
  return base::Status::Ok();
}

// --- Jobs ----------------------------------------------------------------------------------------

base::Status RecordWriter::operator()(const core::PutJob& record) {
  const core::Job& job = record.job;
  const core::JobSpec& spec = job.spec;
  base::Status status = sql_.put_job.Run(
      spec.id, spec.name, spec.name_space, spec.framework, Name(job.state), spec.master_addr,
      spec.shared_tor_ip, job.table->ranks.size(), job.table->nodes.size(), job.has_trainer,
      job.created, job.updated, job.ended, job.last_run, job.last_reply, job.owing_until);
  if (!status.ok() || !record.table_changed) return status;
  return PutTable(job);
}

base::Status RecordWriter::PutTable(const core::Job& job) {
  const std::string& id = job.spec.id;
  const rank_table::RankTable& table = *job.table;
  base::Status status = sql_.drop_table.Run(id);
  if (status.ok()) status = sql_.drop_job_nodes.Run(id);
  if (status.ok()) status = sql_.drop_ranks.Run(id);
  if (status.ok()) status = sql_.put_table.Run(id, JoinTexts(table.warnings), job.table_text);
  std::int64_t position = 0;
  for (const rank_table::TableNode& node : table.nodes) {
    if (!status.ok()) return status;
    status = sql_.put_job_node.Run(id, position++, node.name, JoinTexts(node.aliases));
  }
  for (const rank_table::RankPlace& place : table.ranks) {
    if (!status.ok()) return status;
    status = sql_.put_rank.Run(id, place.rank, table.nodes[place.node].name, place.device);
  }
  return status;
}

base::Status RecordWriter::operator()(const core::DropJob& record) {
  return sql_.drop_job.Run(record.job);
}

base::Status RecordWriter::operator()(const core::PutDeletedJob& record) {
  const core::DeletedJob& job = record.job;
  const core::JobSpec& spec = job.spec;
  return sql_.put_deleted.Run(spec.id, spec.name, spec.name_space, spec.framework, Name(job.state),
                              spec.master_addr, spec.shared_tor_ip, job.created, job.deleted,
                              *job.hccl);
}

base::Status RecordWriter::operator()(const core::DropDeletedJob& record) {
  return sql_.drop_deleted.Run(record.job);
}

base::Status RecordWriter::operator()(const core::PutJobFile& record) {
  return sql_.put_job_file.Run(record.job, record.file.fingerprint, record.file.owner);
}

base::Status RecordWriter::operator()(const core::DropJobFile& record) {
  return sql_.drop_job_file.Run(record.job);
}

// --- Runs ----------------------------------------------------------------------------------------

base::Status RecordWriter::operator()(const core::PutRun& record) {
  const core::Run& run = *record.run;
  base::Status status = PutHeader(run);
  if (status.ok()) status = sql_.drop_parts.Run(run.id);
  if (status.ok()) status = sql_.drop_run_ranks.Run(run.id);
  std::uint32_t index = 0;
  for (const core::Part& part : run.parts) {
    if (!status.ok()) return status;
    status = (*this)(core::PutPart{run.id, index++, part});
  }
  return status.ok() ? PutRanks(run) : status;
}

base::Status RecordWriter::PutRanks(const core::Run& run) {
  for (const core::RankTest& test : run.ranks) {
    base::Status status =
        sql_.put_run_rank.Run(run.id, test.rank, test.part, run.parts[test.part].node, test.device,
                              test.ops.bits(), test.begun.bits(), test.deadline);
    for (const core::Op op : test.answered) {
      if (status.ok()) status = PutOne(run.id, test.rank, op, test.outcomes[op]);
    }
    if (!status.ok()) return status;
  }
  return base::Status::Ok();
}

base::Status RecordWriter::operator()(const core::PutRunHeader& record) {
  return PutHeader(record.run);
}

base::Status RecordWriter::PutHeader(const core::RunHeader& run) {
  touched_.insert(run.id);
  // A number that a run has is used up, even if the run is deleted from the table later.
  base::Status status = sql_.use_number.Run(run.id);
  if (!status.ok()) return status;
  return sql_.put_run.Run(run.id, run.job, Name(run.state), Name(run.executor), run.ops.bits(),
                          run.rank_count, run.expected, run.cancelled, run.created,
                          run.notify_after, run.start_by, run.started, run.deadline, run.ended,
                          run.message);
}

base::Status RecordWriter::operator()(const core::PutPart& record) {
  const core::Part& part = record.part;
  return sql_.put_part.Run(record.run, record.index, part.node, part.agent, part.identity,
                           Name(part.state));
}

base::Status RecordWriter::operator()(const core::PutRank& record) {
  return sql_.set_rank.Run(record.begun.bits(), record.deadline, record.run, record.rank);
}

base::Status RecordWriter::operator()(const core::PutStarts& record) {
  return sql_.set_starts.Run(record.deadline, record.run);
}

base::Status RecordWriter::operator()(const core::PutOutcome& record) {
  return PutOne(record.run, record.rank, record.op, record.outcome);
}

base::Status RecordWriter::PutOne(core::RunId run, std::int32_t rank, core::Op op,
                                  const core::Outcome& outcome) {
  if (touched_.empty() || *touched_.rbegin() != run) touched_.insert(run);
  return sql_.put_outcome.Run(run, rank, op, outcome.code, outcome.started, outcome.finished,
                              outcome.detail);
}

// Stores the counts of a closed run. Counting a run of 65,536 ranks takes tenths of a second, so it
// is done once, when the run closes, and not each time runs are listed.
base::Status RecordWriter::CountClosed(core::RunId run) {
  {
    Rows closed = sql_.is_closed.Query(run);
    if (!closed.Next() || closed.Int(0) == 0) return closed.status();
  }
  core::RunCounts counts;
  base::Status status = Count(run, &counts);
  if (!status.ok()) return status;
  const auto& by_code = counts.by_code;
  static_assert(core::kOutcomeCodes == 5);
  return sql_.set_counts.Run(counts.answered_ranks, counts.faulty_ranks, by_code[0], by_code[1],
                             by_code[2], by_code[3], by_code[4], run);
}

base::Status RecordWriter::Count(core::RunId run, core::RunCounts* counts) {
  Rows rows = sql_.select_ranks.Query(run);
  std::optional<core::RankTest> rank;
  while (rows.Next()) {
    if (!rank || rank->rank != rows.Int(0)) {
      if (rank) counts->Add(*rank);
      rank.emplace();
      rank->rank = static_cast<std::int32_t>(rows.Int(0));
      rank->ops = core::OpSet(static_cast<std::uint8_t>(rows.Int(1)));
    }
    if (rows.IsNull(2)) continue;
    const std::optional<core::Op> op = core::OpFromWire(rows.Int(2));
    const std::optional<core::OutcomeCode> code = core::OutcomeCodeFromInt(rows.Int(3));
    if (!op || !code) continue;
    rank->answered.Add(*op);
    rank->outcomes[*op].code = *code;
  }
  if (rank) counts->Add(*rank);
  return rows.status();
}

// --- Nodes, leases, events -----------------------------------------------------------------------

base::Status RecordWriter::operator()(const core::PutNode& record) {
  const core::Node& node = record.node;
  base::Status status =
      sql_.put_node.Run(node.name, node.attached, node.since, node.identity, node.version,
                        node.host_name, node.fqdn, node.driver, JoinTexts(node.addresses));
  if (!status.ok() || !record.inventory_changed) return status;
  status = sql_.unlist_devices.Run(node.name);
  std::int64_t position = 0;
  for (const core::DeviceInfo& device : node.devices) {
    if (!status.ok()) return status;
    status = sql_.put_device.Run(node.name, device.index, position++, device.kind, device.detail);
  }
  return status.ok() ? sql_.drop_unlisted.Run(node.name) : status;
}

base::Status RecordWriter::operator()(const core::DropNode& record) {
  base::Status status = sql_.drop_node.Run(record.node);
  if (status.ok()) status = sql_.unlist_devices.Run(record.node);
  return status.ok() ? sql_.drop_unlisted.Run(record.node) : status;
}

base::Status RecordWriter::operator()(const core::PutLease& record) {
  return sql_.put_lease.Run(record.device.node, record.device.device, record.run);
}

base::Status RecordWriter::operator()(const core::DropLease& record) {
  base::Status status = sql_.drop_lease.Run(record.device.node, record.device.device);
  if (!status.ok()) return status;
  return sql_.drop_unlisted_device.Run(record.device.node, record.device.device);
}

base::Status RecordWriter::operator()(const core::AddEvent& record) {
  return sql_.add_event.Run(UtcText(record.time), record.kind, IfAny(record.job),
                            record.run == core::kNoRun ? std::optional<std::int64_t>() : record.run,
                            IfAny(record.node), record.text);
}

}  // namespace assay::store
