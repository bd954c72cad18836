#include "tests/store/record_source.h"

#include <algorithm>
#include <iterator>

namespace assay::store {

// --- RecordModel ---------------------------------------------------------------------------------

void RecordModel::Apply(const core::Record& record) {
  std::visit([this](const auto& one) { (*this)(one); }, record);
}

void RecordModel::operator()(const core::PutJob& record) {
  core::Job job = record.job;
  if (!record.table_changed) {
    const core::Job& old = all_.jobs.at(job.spec.id);
    job.table = old.table;
    job.table_text = old.table_text;
  }
  all_.jobs[job.spec.id] = job;
}
void RecordModel::operator()(const core::DropJob& record) { all_.jobs.erase(record.job); }
void RecordModel::operator()(const core::PutDeletedJob& record) {
  all_.deleted.insert_or_assign(record.job.spec.id, record.job);
}
void RecordModel::operator()(const core::DropDeletedJob& record) { all_.deleted.erase(record.job); }
void RecordModel::operator()(const core::PutJobFile& record) {
  all_.job_files[record.job] = record.file;
}
void RecordModel::operator()(const core::DropJobFile& record) { all_.job_files.erase(record.job); }

void RecordModel::operator()(const core::PutRun& record) {
  core::Run run = *record.run;
  const auto old = all_.runs.find(run.id);
  if (old != all_.runs.end()) {  // outcomes are never removed
    for (core::RankTest& test : run.ranks) {
      for (const core::RankTest& before : old->second.ranks) {
        if (before.rank != test.rank) continue;
        for (const core::Op op : before.answered) {
          test.outcomes[op] = before.outcomes[op];
          test.answered.Add(op);
        }
      }
    }
  }
  all_.runs[run.id] = run;
  all_.next_run = std::max(all_.next_run, run.id + 1);
}
void RecordModel::operator()(const core::PutRunHeader& record) {
  static_cast<core::RunHeader&>(all_.runs.at(record.run.id)) = record.run;
}
void RecordModel::operator()(const core::PutPart& record) {
  all_.runs.at(record.run).parts.at(record.index) = record.part;
}

core::RankTest* RecordModel::Find(core::RunId run, std::int32_t rank) {
  for (core::RankTest& test : all_.runs.at(run).ranks) {
    if (test.rank == rank) return &test;
  }
  return nullptr;
}
void RecordModel::operator()(const core::PutRank& record) {
  core::RankTest* test = Find(record.run, record.rank);
  test->begun = record.begun;
  test->deadline = record.deadline;
}
void RecordModel::operator()(const core::PutStarts& record) {
  for (core::RankTest& test : all_.runs.at(record.run).ranks) {
    if (test.deadline == 0) test.deadline = record.deadline;
  }
}
void RecordModel::operator()(const core::PutOutcome& record) {
  core::RankTest* test = Find(record.run, record.rank);
  if (test->answered.Has(record.op)) return;
  test->answered.Add(record.op);
  test->outcomes[record.op] = record.outcome;
}

void RecordModel::operator()(const core::PutNode& record) {
  core::Node node = record.node;
  if (!record.inventory_changed) node.devices = all_.nodes.at(node.name).devices;
  all_.nodes[node.name] = node;
}
void RecordModel::operator()(const core::DropNode& record) { all_.nodes.erase(record.node); }
void RecordModel::operator()(const core::PutLease& record) {
  all_.leases[record.device] = record.run;
}
void RecordModel::operator()(const core::DropLease& record) { all_.leases.erase(record.device); }
void RecordModel::operator()(const core::AddEvent& record) { events_.push_back(record); }

core::Durable RecordModel::Stored() const {
  core::Durable stored = all_;
  for (auto at = stored.runs.begin(); at != stored.runs.end();) {
    core::Run& run = at->second;
    const auto job = stored.jobs.find(run.job);
    run.open = 0;
    if (run.state != core::RunState::kClosed) {
      for (const core::RankTest& test : run.ranks)
        run.open += test.ops.size() - test.answered.size();
      ++at;
    } else if (job != stored.jobs.end() && job->second.last_run == run.id) {
      run.parts.clear();
      run.ranks.clear();
      ++at;
    } else {
      at = stored.runs.erase(at);
    }
  }
  return stored;
}

// --- RecordSource --------------------------------------------------------------------------------

std::int64_t RecordSource::Number(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
}

std::string RecordSource::Text() {
  static const char* const kParts[] = {"",   "a",       "'",    "\"", ";--",
                                       "\n", "é",       "温度", "%s", "\\",
                                       "?1", "[\"x\"]", "NULL", "0",  "a longer text with spaces"};
  std::string text;
  for (std::int64_t i = Number(0, 3); i > 0; --i) {
    text += kParts[Number(0, std::ssize(kParts) - 1)];
  }
  if (Chance(1)) text += std::string("nul\0here", 8);
  if (Chance(1)) text += std::string(5000, 'x');
  return text;
}

core::Outcome RecordSource::AnOutcome() {
  return {static_cast<core::OutcomeCode>(Number(0, core::kOutcomeCodes - 1)), Text(), Time(),
          Time()};
}

std::shared_ptr<const rank_table::RankTable> RecordSource::Table() {
  auto table = std::make_shared<rank_table::RankTable>();
  for (std::int64_t i = Number(1, 4); i > 0; --i) {
    rank_table::TableNode node{i == 4 ? "" : "node-" + std::to_string(i), {}};
    if (Chance(50)) node.aliases = {"10.0.0." + std::to_string(i), Text()};
    table->nodes.push_back(node);
  }
  std::int32_t rank = 0;
  for (std::int64_t i = Number(1, 8); i > 0; --i) {
    rank += static_cast<std::int32_t>(Number(1, 300));
    table->ranks.push_back({rank, static_cast<std::int32_t>(Number(-1, 15)),
                            static_cast<std::uint32_t>(Number(0, std::ssize(table->nodes) - 1))});
  }
  if (Chance(30)) table->warnings = {Text(), "second"};
  return table;
}

core::Record RecordSource::AJob(const core::Durable& known) {
  core::Job job;
  job.spec = {JobId(), Text(), Text(), Text(), Text(), Text()};
  job.state = static_cast<core::JobState>(Number(0, 3));
  job.created = Time();
  job.updated = Time();
  job.ended = Time();
  job.has_trainer = Chance(50);
  job.last_reply = Time();
  job.owing_until = Time();
  if (!known.runs.empty() && Chance(70)) {
    job.last_run = std::next(known.runs.begin(), Number(0, std::ssize(known.runs) - 1))->first;
  }
  if (known.jobs.contains(job.spec.id) && Chance(50)) {
    // The stored table remains, whatever table the record contains.
    job.table = known.jobs.at(job.spec.id).table;
    return core::PutJob{job, false};
  }
  job.table = Chance(20) ? std::make_shared<const rank_table::RankTable>() : Table();
  // The text need not match the table: the stored ranks and nodes are not derived from it again.
  if (Chance(80)) {
    job.table_text = R"({"status":"complete","server_count":"1","server_list":[{"server_id":"n",)"
                     R"("device":[{"device_id":"0","rank_id":"0"}]}],"note":)" +
                     std::to_string(Number(0, 99)) + "}";
  }
  return core::PutJob{job, true};
}

core::Record RecordSource::ADeletedJob() {
  core::DeletedJob job;
  job.spec = {JobId(), Text(), Text(), Text(), Text(), Text()};
  job.state = static_cast<core::JobState>(Number(0, 3));
  job.created = Time();
  job.deleted = Time();
  job.hccl = std::make_shared<const std::string>(Text());
  return core::PutDeletedJob{job};
}

core::Record RecordSource::ARun(const core::Durable& known) {
  auto run = std::make_shared<core::Run>();
  run->id = known.next_run + Number(0, 2);
  run->job = JobId();
  run->executor = static_cast<core::Executor>(Number(0, 1));
  run->state = static_cast<core::RunState>(Number(0, core::kRunStates - 1));
  run->ops = Ops();
  run->created = Time();
  for (std::int64_t i = Number(1, 3); i > 0; --i) {
    run->parts.push_back({NodeName(), Text(), Text(), static_cast<core::PartState>(Number(0, 3))});
  }
  std::int32_t rank = -1;
  for (std::int64_t i = Number(1, 6); i > 0; --i) {
    core::RankTest test;
    rank += static_cast<std::int32_t>(Number(1, 3));
    test.rank = rank;
    test.device = static_cast<std::int32_t>(Number(-1, 7));
    test.part = static_cast<std::uint32_t>(Number(0, std::ssize(run->parts) - 1));
    test.ops = Ops();
    for (const core::Op op : test.ops) {
      if (!Chance(10)) continue;
      test.answered.Add(op);
      test.outcomes[op] = AnOutcome();
    }
    run->expected += test.ops.size();
    run->ranks.push_back(test);
  }
  run->rank_count = std::ssize(run->ranks);
  return core::PutRun{run};
}

core::Record RecordSource::AHeader(const core::Run& run) {
  core::RunHeader header = run;
  header.state = static_cast<core::RunState>(Number(0, core::kRunStates - 1));
  header.notify_after = Time();
  header.start_by = Time();
  header.started = Time();
  header.deadline = Time();
  header.ended = Time();
  header.cancelled = Chance(50);
  header.message = Text();
  return core::PutRunHeader{header};
}

core::Record RecordSource::OfRun(const core::Durable& known) {
  const core::Run& run =
      std::next(known.runs.begin(), Number(0, std::ssize(known.runs) - 1))->second;
  const auto index = static_cast<std::uint32_t>(Number(0, std::ssize(run.parts) - 1));
  const core::RankTest& test =
      run.ranks[static_cast<std::size_t>(Number(0, std::ssize(run.ranks) - 1))];
  switch (Number(0, 6)) {
    case 0:
      return AHeader(run);
    case 1:
      return core::PutPart{
          run.id,
          index,
          {run.parts[index].node, Text(), Text(), static_cast<core::PartState>(Number(0, 3))}};
    case 2:
      return core::PutRank{run.id, test.rank, test.ops, Time()};
    case 3:
      return core::PutStarts{run.id, Time()};
    case 4:
      if (Chance(20)) return core::PutRun{std::make_shared<const core::Run>(run)};
      [[fallthrough]];
    default:
      return core::PutOutcome{run.id, test.rank,
                              test.ops.Has(core::Op::kAic) ? core::Op::kAic : core::Op::kP2p,
                              AnOutcome()};
  }
}

core::Record RecordSource::ANode(const core::Durable& known) {
  core::Node node{NodeName(), Text(), Text(), Text(), Text(), {}, Text(), {}, Chance(50), Time()};
  for (std::int64_t i = Number(0, 3); i > 0; --i) node.addresses.push_back(Text());
  for (std::int32_t i = 0; i < 8; ++i) {
    if (Chance(40)) node.devices.push_back({7 - i, Text(), Text()});
  }
  const bool changed = !known.nodes.contains(node.name) || Chance(50);
  return core::PutNode{node, changed};
}

core::Record RecordSource::Any(const RecordModel& model) {
  const core::Durable& known = model.everything();
  const std::int64_t kind = Number(0, 99);
  if (kind < 10) return AJob(known);
  if (kind < 12) return core::DropJob{JobId()};
  if (kind < 13) return core::DropDeletedJob{JobId()};
  if (kind < 15) return ADeletedJob();
  if (kind < 16) return core::PutJobFile{JobId(), {Text(), Chance(50)}};
  if (kind < 17) return core::DropJobFile{JobId()};
  if (kind < 20 || known.runs.empty()) return ARun(known);
  if (kind < 70) return OfRun(known);
  if (kind < 78) return ANode(known);
  if (kind < 81) return core::DropNode{NodeName()};
  const core::DeviceKey key{NodeName(), static_cast<std::int32_t>(Number(0, 9))};
  if (kind < 89) return core::PutLease{key, Number(1, 1'000)};
  if (kind < 95) return core::DropLease{key};
  return core::AddEvent{Time(), "kind", Chance(50) ? JobId() : "", Number(0, 3), Text(), Text()};
}

std::vector<core::Record> RecordSource::Batch(const RecordModel& model, int size) {
  RecordModel sofar = model;
  std::vector<core::Record> batch;
  for (int i = 0; i < size; ++i) {
    batch.push_back(Any(sofar));
    sofar.Apply(batch.back());
  }
  return batch;
}

}  // namespace assay::store
