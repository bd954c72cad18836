#include "tests/simulation/disk.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tests/support/durable_text.h"

namespace assay::simulation {
namespace {

core::RankTest* FindRank(core::RunId id, std::int32_t number, core::Durable* all) {
  const auto run = all->runs.find(id);
  if (run == all->runs.end()) return nullptr;
  for (core::RankTest& rank : run->second.ranks) {
    if (rank.rank == number) return &rank;
  }
  return nullptr;
}

void Put(const core::PutJob& record, core::Durable* all) {
  core::Job& job = all->jobs[record.job.spec.id];
  core::Job stored = std::exchange(job, record.job);
  if (record.table_changed) return;
  job.table_text = std::move(stored.table_text);
  job.table = std::move(stored.table);
}
void Put(const core::DropJob& record, core::Durable* all) { all->jobs.erase(record.job); }
void Put(const core::PutDeletedJob& record, core::Durable* all) {
  all->deleted.insert_or_assign(record.job.spec.id, record.job);
}
void Put(const core::DropDeletedJob& record, core::Durable* all) { all->deleted.erase(record.job); }
void Put(const core::PutJobFile& record, core::Durable* all) {
  all->job_files[record.job] = record.file;
}
void Put(const core::DropJobFile& record, core::Durable* all) { all->job_files.erase(record.job); }
void Put(const core::PutRun& record, core::Durable* all) {
  all->runs[record.run->id] = *record.run;
  all->next_run = std::max(all->next_run, record.run->id + 1);
}
void Put(const core::PutRunHeader& record, core::Durable* all) {
  static_cast<core::RunHeader&>(all->runs[record.run.id]) = record.run;
}
void Put(const core::PutPart& record, core::Durable* all) {
  std::vector<core::Part>& parts = all->runs[record.run].parts;
  if (record.index < parts.size()) parts[record.index] = record.part;
}
void Put(const core::PutRank& record, core::Durable* all) {
  core::RankTest* rank = FindRank(record.run, record.rank, all);
  if (rank == nullptr) return;
  rank->begun = record.begun;
  rank->deadline = record.deadline;
}
void Put(const core::PutStarts& record, core::Durable* all) {
  for (core::RankTest& rank : all->runs[record.run].ranks) {
    if (rank.deadline == 0) rank.deadline = record.deadline;
  }
}
void Put(const core::PutOutcome& record, core::Durable* all) {
  core::RankTest* rank = FindRank(record.run, record.rank, all);
  if (rank == nullptr) return;
  if (!rank->answered.Has(record.op)) --all->runs[record.run].open;
  rank->answered.Add(record.op);
  rank->outcomes[record.op] = record.outcome;
}
void Put(const core::PutNode& record, core::Durable* all) {
  core::Node& node = all->nodes[record.node.name];
  core::Node stored = std::exchange(node, record.node);
  if (!record.inventory_changed) node.devices = std::move(stored.devices);
}
void Put(const core::DropNode& record, core::Durable* all) { all->nodes.erase(record.node); }
void Put(const core::PutLease& record, core::Durable* all) {
  all->leases[record.device] = record.run;
}
void Put(const core::DropLease& record, core::Durable* all) { all->leases.erase(record.device); }
void Put(const core::AddEvent&, core::Durable*) {}

bool Same(const core::Job& a, const core::Job& b) {
  return a.spec == b.spec && a.state == b.state && a.table_text == b.table_text &&
         a.table == b.table && a.created == b.created && a.updated == b.updated &&
         a.has_trainer == b.has_trainer && a.last_run == b.last_run &&
         a.last_reply == b.last_reply && a.owing_until == b.owing_until;
}

bool Same(const core::RunHeader& a, const core::RunHeader& b, core::Ms judged_from) {
  const bool open = a.state != core::RunState::kClosed;
  const core::Ms deadline = open ? std::max(a.deadline, judged_from) : a.deadline;
  return a.id == b.id && a.job == b.job && a.executor == b.executor && a.state == b.state &&
         a.ops == b.ops && a.created == b.created && a.notify_after == b.notify_after &&
         a.start_by == b.start_by && a.started == b.started &&
         (a.deadline == b.deadline || deadline == b.deadline) && a.ended == b.ended &&
         a.cancelled == b.cancelled && a.rank_count == b.rank_count && a.expected == b.expected &&
         a.message == b.message;
}

bool Same(const core::RankTest& a, const core::RankTest& b) {
  if (a.rank != b.rank || a.device != b.device || a.part != b.part || a.ops != b.ops ||
      a.begun != b.begun || a.answered != b.answered || a.deadline != b.deadline) {
    return false;
  }
  for (const core::Op op : core::kAllOps) {
    if (a.answered.Has(op) && a.outcomes[op] != b.outcomes[op]) return false;
  }
  return true;
}

bool Same(const core::Run& a, const core::Run& b, core::Ms judged_from) {
  if (!Same(static_cast<const core::RunHeader&>(a), static_cast<const core::RunHeader&>(b),
            judged_from)) {
    return false;
  }
  if (a.state == core::RunState::kClosed) return b.ranks.empty() && b.parts.empty();
  return a.open == b.open && a.parts == b.parts && a.ranks.size() == b.ranks.size() &&
         std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(),
                    [](const core::RankTest& x, const core::RankTest& y) { return Same(x, y); });
}

std::string RunsDifference(const Disk& disk, const core::Durable& live, core::Ms judged_from) {
  std::size_t loaded = 0;
  for (const auto& [id, run] : disk.all.runs) {
    if (!IsLoaded(disk, run)) continue;
    ++loaded;
    const auto have = live.runs.find(id);
    if (have == live.runs.end())
      return "run " + std::to_string(id) + " is stored but not in the cluster";
    if (!Same(run, have->second, judged_from)) return "run " + std::to_string(id);
  }
  return loaded == live.runs.size() ? "" : "a run is in the cluster but not stored";
}

}  // namespace

void Apply(const core::Record& record, Disk* disk) {
  std::visit([disk](const auto& one) { Put(one, &disk->all); }, record);
}

bool IsLoaded(const Disk& disk, const core::Run& run) {
  if (run.state != core::RunState::kClosed) return true;
  const auto job = disk.all.jobs.find(run.job);
  return job != disk.all.jobs.end() && job->second.last_run == run.id;
}

core::Durable Load(const Disk& disk) {
  core::Durable loaded = disk.all;
  std::erase_if(loaded.runs, [&](const auto& entry) { return !IsLoaded(disk, entry.second); });
  for (auto& [id, run] : loaded.runs) {
    if (run.state != core::RunState::kClosed) continue;
    run.ranks.clear();
    run.parts.clear();
  }
  return loaded;
}

std::string Difference(const Disk& disk, const core::Durable& live, core::Ms judged_from) {
  const core::Durable& all = disk.all;
  std::string what = RunsDifference(disk, live, judged_from);
  if (what.empty() && all.leases != live.leases) what = "leases";
  if (what.empty() && all.nodes != live.nodes) what = "nodes";
  if (what.empty() && all.next_run != live.next_run) what = "the next run number";
  if (what.empty() &&
      (all.jobs.size() != live.jobs.size() ||
       !std::equal(all.jobs.begin(), all.jobs.end(), live.jobs.begin(),
                   [](const auto& a, const auto& b) { return Same(a.second, b.second); }))) {
    what = "jobs";
  }
  if (what.empty()) return "";
  return what + ": " +
         support::FirstDifference(support::DurableText(live), support::DurableText(Load(disk)));
}

}  // namespace assay::simulation
