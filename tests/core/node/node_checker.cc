#include "tests/core/node/node_checker.h"

#include <algorithm>

#include "tests/core/node/rig.h"

namespace assay::core::node {
namespace {

OutcomeKey KeyOf(const OutcomeReport& report) { return {report.run, report.rank, report.op}; }
WorkerKey KeyOf(const OutcomeKey& key) { return {key.run, key.rank}; }

std::optional<Op> NextOpen(const SpooledRank& rank) {
  const OpSet open = rank.assigned.ops - rank.answered;
  if (open.empty()) return std::nullopt;
  return open.first();
}

}  // namespace

void NodeChecker::Fail(const std::string& text) {
  if (problem_.empty()) problem_ = text;
}

const SpooledRank* NodeChecker::FindRank(RunId run, std::int32_t rank) const {
  const auto at = spool_.find(run);
  if (at == spool_.end()) return nullptr;
  for (const SpooledRank& one : at->second.ranks) {
    if (one.assigned.rank == rank) return &one;
  }
  return nullptr;
}

bool NodeChecker::DeviceHeld(std::int32_t device) const {
  for (const auto& [key, worker] : workers_) {
    if (worker.device == device) return true;
  }
  for (const auto& [key, held] : safing_) {
    if (held == device) return true;
  }
  return false;
}

std::vector<WorkerKey> NodeChecker::alive() const {
  std::vector<WorkerKey> keys;
  for (const auto& [key, worker] : workers_) keys.push_back(key);
  return keys;
}
std::vector<WorkerKey> NodeChecker::safing() const {
  std::vector<WorkerKey> keys;
  for (const auto& [key, device] : safing_) keys.push_back(key);
  return keys;
}

void NodeChecker::Check(const NodeEvent& event, const NodeOutput& out, Ms now) {
  now_ = now;
  ok_.reset();
  std::visit([this](const auto& one) { See(one); }, event);
  for (const std::string& text : out.internal_errors) Fail("internal error: " + text);
  for (const SpoolRecord& record : out.records) {
    std::visit([this](const auto& one) { Keep(one); }, record);
    Apply(record, &spool_);
    if (!problem_.empty()) return;
  }
  for (const NodeEffect& effect : out.effects) {
    std::visit([this](const auto& one) { Perform(one); }, effect);
    if (problem_.empty()) continue;
    problem_ += " (at: " + Show(effect).front() + ")";
    return;
  }
}

void NodeChecker::Restart(Ms now) {
  workers_.clear();
  safing_.clear();
  spawned_.clear();
  made_safe_.clear();
  discards_.clear();
  changed_.clear();
  ended_by_.clear();
  link_ = stopping_ = false;
  restarted_ = now;
}

Ms NodeChecker::DeadlineOf(const OutcomeKey& key) const {
  const Assign& assign = spool_.at(key.run).assign;
  const Ms begun = FindRank(key.run, key.rank)->begun_at[key.op];
  return begun + (key.op == Op::kAic ? assign.aic_deadline : assign.p2p_deadline);
}

void NodeChecker::EndBy(RunId run, Ms at) {
  const auto [known, added] = ended_by_.emplace(run, at);
  if (!added) known->second = std::min(known->second, at);
}

// A restart ends ops under way at once.
void NodeChecker::CheckBounds(Ms now) {
  for (const auto& [id, run] : spool_) {
    for (const SpooledRank& rank : run.ranks) {
      const std::optional<Op> op = NextOpen(rank);
      if (!op || !rank.begun.Has(*op) || discards_.count(id) != 0) continue;
      const Ms grace = std::max<Ms>(0, run.assign.kill_grace);
      Ms ended = DeadlineOf({id, rank.assigned.rank, *op}) + grace;
      if (ended_by_.count(id) != 0) ended = std::min(ended, ended_by_.at(id));
      if (now > std::max(ended + kReapMs, restarted_) + std::max<Ms>(5'000, grace)) {
        Fail("no outcome of run " + std::to_string(id) + " rank " +
             std::to_string(rank.assigned.rank) + " within its time limit");
      }
    }
  }
}

// --- Events --------------------------------------------------------------------------------------

void NodeChecker::See(const CoordinatorSaid& said) {
  const auto* discard = std::get_if<Discard>(&said.message);
  if (discard != nullptr && spool_.count(discard->run) != 0) discards_.insert(discard->run);
  const auto* cancel = std::get_if<Cancel>(&said.message);
  if (cancel == nullptr || spool_.count(cancel->run) == 0) return;
  EndBy(cancel->run, now_ + spool_.at(cancel->run).assign.kill_grace);
}
void NodeChecker::See(const WorkerOpened& said) {
  const auto worker = workers_.find(said.worker);
  if (worker != workers_.end()) worker->second.opened = true;
}
void NodeChecker::See(const WorkerP2pPrepared& said) {
  const auto worker = workers_.find(said.worker);
  if (worker == workers_.end() || !said.error.empty() || worker->second.prepared) return;
  worker->second.prepared = true;
  worker->second.blob = said.blob;
}
void NodeChecker::See(const WorkerGone& said) { workers_.erase(said.worker); }
void NodeChecker::See(const DeviceSafe& said) {
  if (safing_.erase(said.worker) == 0) return;
  made_safe_.insert(said.worker);
  if (said.voltage_changed) changed_.insert(said.worker);
}
void NodeChecker::See(const WorkerOpDone& said) {
  if (said.code == OutcomeCode::kOk) ok_ = {said.worker.run, said.worker.rank, said.op};
}
void NodeChecker::See(const StopAsked& asked) {
  stopping_ = true;
  for (const auto& [id, run] : spool_) EndBy(id, now_ + asked.grace);
}
void NodeChecker::See(const StopForced&) {
  stopping_ = true;
  for (const auto& [id, run] : spool_) EndBy(id, now_);
}

// --- Records -------------------------------------------------------------------------------------

void NodeChecker::Keep(const SpoolRun& record) {
  Require(spool_.count(record.assign.run) == 0, "a run is stored twice");
  for (std::size_t i = 1; i < record.assign.ranks.size(); ++i) {
    Require(record.assign.ranks[i - 1].rank < record.assign.ranks[i].rank, "ranks out of order");
  }
}
void NodeChecker::Keep(const SpoolStarted& record) {
  const auto run = spool_.find(record.run);
  Require(run != spool_.end() && !run->second.started, "started: unknown run or started twice");
}
void NodeChecker::Keep(const SpoolBegun& record) {
  const SpooledRank* rank = FindRank(record.key.run, record.key.rank);
  if (rank == nullptr) return Fail("begun: unknown rank");
  Require(spool_.at(record.key.run).started, "begun before the run was started");
  Require(NextOpen(*rank) == record.key.op, "begun: not the next op");
  Require(!rank->begun.Has(record.key.op), "begun twice");
  const auto worker = workers_.find(KeyOf(record.key));
  Require(worker != workers_.end() && worker->second.opened,
          "begun without a worker with an open device");
  Require(ended_by_.count(record.key.run) == 0, "begun in a run that is ending");
}
void NodeChecker::Keep(const SpoolOutcome& record) {
  const SpooledRank* rank = FindRank(record.key.run, record.key.rank);
  if (rank == nullptr) return Fail("outcome: unknown rank");
  Require(!rank->answered.Has(record.key.op), "an outcome changes");
  Require(NextOpen(*rank) == record.key.op, "outcomes out of order");
  Require(record.outcome.detail.size() <= 512, "outcome: detail is longer than 512 bytes");
  Require(record.outcome.code == OutcomeCode::kOk || !record.outcome.detail.empty(),
          "outcome other than ok without a detail");
  const WorkerKey key = KeyOf(record.key);
  if (rank->begun.Has(record.key.op) && workers_.count(key) == 0) {
    Require(made_safe_.count(key) != 0, "an outcome before the device is safe");
  }
  Require(safing_.count(key) == 0, "an outcome while the device is being made safe");
  if (record.outcome.code == OutcomeCode::kOk) {
    Require(ok_ == record.key, "ok that the worker did not report");
    Require(problem_.empty() && now_ <= DeadlineOf(record.key), "ok after its deadline");
  }
  if (changed_.erase(key) != 0) {
    Require(record.outcome.code == OutcomeCode::kVoltageNotRestored,
            "outcome does not report the changed voltage");
  }
}
void NodeChecker::Keep(const SpoolAcked& record) {
  const SpooledRank* rank = FindRank(record.key.run, record.key.rank);
  Require(rank != nullptr && rank->answered.Has(record.key.op), "acked: not answered");
}
void NodeChecker::Keep(const SpoolDrop& record) {
  const auto run = spool_.find(record.run);
  if (run == spool_.end()) return Fail("drop: unknown run");
  for (const SpooledRank& rank : run->second.ranks) {
    Require(!Holds({record.run, rank.assigned.rank}), "dropped while a device is held");
    Require(rank.acked == rank.assigned.ops || discards_.count(record.run) != 0,
            "dropped with an unacknowledged outcome");
  }
  discards_.erase(record.run);
  const auto of_run = [&](const WorkerKey& key) { return key.run == record.run; };
  std::erase_if(spawned_, of_run);
  std::erase_if(made_safe_, of_run);
  std::erase_if(changed_, of_run);
  ended_by_.erase(record.run);
}

// --- Effects -------------------------------------------------------------------------------------

void NodeChecker::Perform(const SpawnWorker& effect) {
  const SpooledRank* rank = FindRank(effect.worker.run, effect.worker.rank);
  if (rank == nullptr) return Fail("spawn: unknown rank");
  Require(rank->assigned.device == effect.device, "spawn: on another device");
  Require(!DeviceHeld(effect.device), "a second worker on one device");
  Require(rank->begun.empty() && rank->answered.empty(), "spawn: an op has begun or is answered");
  Require(!stopping_, "spawn: the agent is stopping");
  Require(spawned_.insert(effect.worker).second, "a second worker for one rank");
  workers_[effect.worker].device = effect.device;
}
void NodeChecker::RequireBegun(const WorkerKey& key, Op op) {
  const SpooledRank* rank = FindRank(key.run, key.rank);
  const auto worker = workers_.find(key);
  Require(worker != workers_.end() && worker->second.opened, "run: no worker with an open device");
  Require(rank != nullptr && rank->begun.Has(op) && !rank->answered.Has(op),
          "run: not recorded as begun");
}
void NodeChecker::Perform(const RunAic& effect) { RequireBegun(effect.worker, Op::kAic); }
void NodeChecker::Perform(const PrepareP2p& effect) {
  RequireBegun(effect.worker, Op::kP2p);
  Require(effect.group.size() >= 2, "a group of one");
  Require(effect.group.at(static_cast<std::size_t>(effect.index)).rank == effect.worker.rank,
          "prepare: index is not the worker's position in the group");
  for (const SpooledRank& rank : spool_.at(effect.worker.run).ranks) {
    const bool member = std::any_of(effect.group.begin(), effect.group.end(), [&](const auto& one) {
      return one.rank == rank.assigned.rank;
    });
    Require(member || Answered(rank), "prepare: a rank that can still join is left out");
  }
  const auto worker = workers_.find(effect.worker);
  if (worker != workers_.end()) worker->second.prepared = false;
}
void NodeChecker::Perform(const RunP2p& effect) {
  RequireBegun(effect.worker, Op::kP2p);
  Require(effect.group.size() >= 2 && effect.blobs.size() == effect.group.size(), "a group of one");
  Require(effect.group.at(static_cast<std::size_t>(effect.index)).rank == effect.worker.rank,
          "run: index is not the worker's position in the group");
  for (std::size_t i = 0; i < effect.group.size() && problem_.empty(); ++i) {
    const auto peer = workers_.find({effect.worker.run, effect.group[i].rank});
    Require(peer != workers_.end() && peer->second.prepared, "run: a peer is not prepared");
    if (!problem_.empty()) return;
    Require(peer->second.device == effect.group[i].device, "run: a peer's device is wrong");
    Require(peer->second.blob == effect.blobs[i], "run: a peer's blob is wrong");
  }
  RequireAllPrepared(effect.worker.run);
}
// RunP2p must not leave out a rank that is still preparing.
void NodeChecker::RequireAllPrepared(RunId run) {
  for (const auto& [key, worker] : workers_) {
    const SpooledRank* rank = FindRank(key.run, key.rank);
    if (key.run != run || worker.prepared || worker.killed || rank == nullptr) continue;
    Require(NextOpen(*rank) != Op::kP2p, "run: a rank is still preparing");
  }
}
void NodeChecker::Perform(const QuitWorker& effect) {
  const SpooledRank* rank = FindRank(effect.worker.run, effect.worker.rank);
  Require(workers_.count(effect.worker) != 0, "quit: no worker");
  Require(rank != nullptr && Answered(*rank), "quit while an op is open");
}
void NodeChecker::Perform(const KillWorker& effect) {
  const auto worker = workers_.find(effect.worker);
  if (worker == workers_.end()) return Fail("kill: no worker");
  worker->second.killed = true;
}
void NodeChecker::Perform(const MakeSafe& effect) {
  const SpooledRank* rank = FindRank(effect.worker.run, effect.worker.rank);
  Require(rank != nullptr && rank->assigned.device == effect.device,
          "make safe: unknown rank or device");
  Require(rank != nullptr && !rank->begun.empty(), "make safe: no op had begun");
  Require(!DeviceHeld(effect.device), "make safe: the device is held");
  safing_[effect.worker] = effect.device;
}

// --- Messages ------------------------------------------------------------------------------------

void NodeChecker::Perform(const SendToCoordinator& effect) {
  Require(link_, "a message without a link");
  if (!greeted_)
    Require(std::holds_alternative<Hello>(effect.message),
            "hello is not the first message of the link");
  std::visit([this](const auto& message) { Hear(message); }, effect.message);
}
void NodeChecker::Hear(const Hello& message) {
  Require(!greeted_, "hello twice");
  greeted_ = true;
  std::vector<HeldRun> held;
  for (const auto& [id, run] : spool_) held.push_back({id, run.started});
  Require(message.held == held, "hello does not list the runs in the spool");
}
void NodeChecker::Hear(const Ready& message) {
  const auto run = spool_.find(message.run);
  if (run == spool_.end()) return Fail("ready: unknown run");
  Require(!run->second.started, "ready after the start");
  for (const SpooledRank& rank : run->second.ranks) {
    const auto worker = workers_.find({message.run, rank.assigned.rank});
    if (worker != workers_.end()) {
      Require(worker->second.opened && rank.answered.empty(), "ready: a worker is not ready");
      continue;
    }
    Require(Answered(rank), "ready: a rank has neither worker nor outcome");
    for (const Op op : rank.assigned.ops - rank.acked) {
      Require(sent_.count({message.run, rank.assigned.rank, op}) != 0, "ready before its outcomes");
    }
  }
}
void NodeChecker::Hear(const Progress& message) {
  const SpooledRank* rank = FindRank(message.run, message.rank);
  Require(rank != nullptr && rank->begun.Has(message.op) && !rank->answered.Has(message.op),
          "progress of an op that is not under way");
}
void NodeChecker::Hear(const Outcomes& message) {
  Require(!message.reports.empty() && message.reports.size() <= 1'000,
          "outcomes: not 1 to 1,000 reports");
  for (const OutcomeReport& report : message.reports) {
    const SpooledRank* rank = FindRank(report.run, report.rank);
    if (rank == nullptr || !rank->answered.Has(report.op)) return Fail("outcome: not stored");
    const Outcome& stored = rank->outcomes[report.op];
    Require(stored.code == report.code && stored.detail == report.detail,
            "outcome: differs from the stored one");
    Require((report.started_ago >= 0) == rank->begun.Has(report.op), "outcome: start is wrong");
    const Op last = rank->assigned.ops.Has(Op::kP2p) ? Op::kP2p : Op::kAic;
    Require(report.op != last || !Holds({report.run, report.rank}),
            "the last outcome while the device is held");
    sent_.insert(KeyOf(report));
  }
}
void NodeChecker::Hear(const Discarded& message) {
  Require(spool_.count(message.run) == 0, "discarded: still stored");
  for (const WorkerKey& key : alive())
    Require(key.run != message.run, "discarded: a worker still exists");
}

// --- CheckedBench --------------------------------------------------------------------------------

CheckedBench::CheckedBench(std::int32_t devices)
    : devices_(devices), supervisor_(TestNode(devices), {}) {}

std::vector<NodeEffect> CheckedBench::Step(const NodeEvent& event, Ms now) {
  NodeOutput out;
  if (!problem().empty()) return {};
  supervisor_.Step(event, now, &out);
  did_ = !out.records.empty() || !out.effects.empty();
  checker_.Check(event, out, now);
  if (supervisor_.spooled() != checker_.spool())
    problem_ = "spooled() differs from the committed records";
  const bool held = !checker_.alive().empty() || !checker_.safing().empty();
  if (supervisor_.idle() == held) problem_ = "idle() is wrong";
  return problem().empty() ? std::move(out.effects) : std::vector<NodeEffect>{};
}

std::vector<NodeEffect> CheckedBench::StepAndDie(const NodeEvent& event, Ms now, bool committed) {
  std::vector<NodeEffect> effects;
  if (committed) effects = Step(event, now);
  Restart(now);
  return effects;
}

void CheckedBench::Restart(Ms now) {
  checker_.Restart(now);
  supervisor_ = Supervisor(TestNode(devices_), checker_.spool());
}

void CheckedBench::CheckDeadline(Ms now, Ms before) {
  const Ms due = supervisor_.NextDeadline(now);
  if (before >= due || before < now || !problem().empty()) return;
  NodeOutput out;
  supervisor_.Step(NodeTicked{}, before, &out);
  if (!out.records.empty() || !out.effects.empty())
    problem_ = "a tick before NextDeadline had an effect";
  if (supervisor_.NextDeadline(now) != due)
    problem_ = "a tick before NextDeadline changed NextDeadline";
}

}  // namespace assay::core::node
