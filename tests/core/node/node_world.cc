#include "tests/core/node/node_world.h"

#include <utility>

namespace assay::core::node {
namespace {

constexpr Ms kFaultsMs = 1'800'000;
constexpr Ms kHealMs = 7'200'000;
constexpr Ms kPushMs = 7'000;

}  // namespace

NodeWorld::NodeWorld(std::uint64_t seed) : random_(seed), supervisor_(kDevices) {
  // Each kind of fault is absent in half of the worlds.
  const auto draw = [this](std::int64_t most) {
    return Random(2) == 0 ? 0 : static_cast<int>(Random(most));
  };
  hang_ = draw(150);
  crash_ = draw(200);
  late_ = draw(300);
  cut_ = draw(30);
  lose_ = draw(300);
  repeat_ = draw(300);
  die_ = draw(20);
  meddle_ = draw(400);
}

bool NodeWorld::KnownRun::over() const {
  std::size_t owed = 0;
  for (const AssignedRank& rank : assign.ranks) owed += static_cast<std::size_t>(rank.ops.size());
  return gone || got.size() == owed;
}

// Not std::uniform_int_distribution: a seed must give the same numbers with every standard library.
std::int64_t NodeWorld::Random(std::int64_t below) {
  return below <= 1 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
}
Ms NodeWorld::Delay(Ms most) { return Chance(700) ? Random(most / 20 + 1) : Random(most + 1); }

std::string NodeWorld::Run() {
  At(kFaultsMs, [this] { Heal(); });
  At(0, [this] { Meddle(); });
  ConnectLater();
  while (problem_.empty() && !(healed_ && Quiet())) {
    const Ms due = supervisor_.supervisor().NextDeadline(now_);
    const bool tick = agenda_.empty() || due <= agenda_.begin()->first;
    if (tick) {
      now_ = std::max(now_, due);
      Step(NodeTicked{});
    } else {
      now_ = std::max(now_, agenda_.begin()->first);
      const std::function<void()> what = std::move(agenda_.begin()->second);
      agenda_.erase(agenda_.begin());
      what();
    }
    supervisor_.CheckBounds(now_);
    if (!supervisor_.problem().empty()) Fail(supervisor_.problem());
    if (now_ > 1'000'000 + kFaultsMs + kHealMs)
      Fail("the world does not come to rest: " + WhyNotQuiet());
  }
  return problem_.empty() ? "" : "at " + std::to_string(now_) + ": " + problem_;
}

// --- The agent -----------------------------------------------------------------------------------

void NodeWorld::Step(const NodeEvent& event) {
  ++steps_;
  const bool tick = std::holds_alternative<NodeTicked>(event);
  const bool due = tick && supervisor_.supervisor().NextDeadline(now_) <= now_;
  if (!healed_ && Chance(die_)) {
    const std::vector<NodeEffect> effects = supervisor_.StepAndDie(event, now_, Chance(500));
    const std::size_t performed = static_cast<std::size_t>(Random(5));
    for (std::size_t i = 0; i < std::min(performed, effects.size()); ++i) {
      if (const auto* send = std::get_if<SendToCoordinator>(&effects[i])) Perform(*send);
    }
    Restart();
    return;
  }
  const std::vector<NodeEffect> effects = supervisor_.Step(event, now_);
  if (due && !supervisor_.did() && supervisor_.problem().empty())
    Fail("nothing happened at NextDeadline");
  for (const NodeEffect& effect : effects) Perform(effect);
  if (Chance(200)) {
    const Ms next = supervisor_.supervisor().NextDeadline(now_);
    supervisor_.CheckDeadline(now_, Chance(300) ? next - 1 : now_ + Random(next - now_));
  }
  if (stopping_ && supervisor_.supervisor().idle()) Restart();
}

void NodeWorld::Restart() {
  supervisor_.Restart(now_);
  ++life_;
  link_ = 0;
  attached_ = false;
  stopping_ = false;
  ConnectLater();
}

void NodeWorld::ConnectLater() {
  At(Delay(20'000), [this] {
    if (link_ != 0) return;
    link_ = ++links_;
    heard_until_ = now_;
    Step(LinkUp{});
  });
}

void NodeWorld::Heal() {
  healed_ = true;
  lose_ = cut_ = die_ = 0;
  if (stopping_) Restart();
  if (link_ == 0) ConnectLater();
}

bool NodeWorld::Quiet() const {
  for (const auto& [id, run] : runs_) {
    if (!run.over()) return false;
  }
  return supervisor_.supervisor().idle() && !supervisor_.supervisor().owing() &&
         supervisor_.supervisor().spooled().empty();
}

std::string NodeWorld::WhyNotQuiet() const {
  for (const auto& [id, run] : runs_) {
    if (!run.over()) return "run " + std::to_string(id) + " is not over";
  }
  if (!supervisor_.supervisor().idle()) return "a device is held";
  return "an outcome is unacknowledged or the spool is not empty";
}

// --- Workers -------------------------------------------------------------------------------------

// Delivers a worker's event unless the agent has restarted since. An event sent before the worker
// died may still arrive after its death.
void NodeWorld::WorkerSays(const WorkerKey&, Ms delay, NodeEvent event) {
  At(delay, [this, life = life_, said = std::move(event)] {
    if (life == life_) Step(said);
  });
}

void NodeWorld::WorkerDies(const WorkerKey& key, Ms delay, std::string how) {
  WorkerSays(key, delay, WorkerGone{key, std::move(how)});
}

void NodeWorld::RunOp(const WorkerKey& key, Op op) {
  const auto run = runs_.find(key.run);
  if (run == runs_.end()) return Fail("an op of an unknown run");
  if (run->second.over()) Fail("an op of a run that is over");
  const Assign& assign = run->second.assign;
  const Ms deadline = op == Op::kAic ? assign.aic_deadline : assign.p2p_deadline;
  if (Chance(300)) WorkerSays(key, Delay(deadline), WorkerProgressed{key, op, 50, "half"});
  if (Chance(hang_)) return;
  if (Chance(crash_)) return WorkerDies(key, Delay(deadline), "signal 11\nsegfault");
  const Ms delay = Chance(late_) ? deadline + Delay(assign.kill_grace + 2'000) : Delay(deadline);
  const auto code =
      Chance(700) ? OutcomeCode::kOk : static_cast<OutcomeCode>(Random(kOutcomeCodes));
  WorkerSays(key, delay, WorkerOpDone{key, op, code, "done"});
  if (Chance(repeat_)) WorkerSays(key, delay + Delay(2'000), WorkerOpDone{key, op, code, "again"});
}

void NodeWorld::Perform(const NodeEffect& effect) {
  std::visit([this](const auto& one) { Perform(one); }, effect);
}
void NodeWorld::Perform(const SpawnWorker& effect) {
  const WorkerKey key = effect.worker;
  if (runs_.at(key.run).over()) Fail("a worker for a run that is over");
  if (Chance(crash_ / 4)) WorkerDies(key, Delay(100'000), "signal 6");
  if (Chance(hang_)) return;
  if (Chance(crash_)) return WorkerSays(key, Delay(3'000), WorkerFailed{key, "no chip"});
  WorkerSays(key, Delay(Chance(late_) ? 70'000 : 3'000), WorkerOpened{key});
}
void NodeWorld::Perform(const RunAic& effect) { RunOp(effect.worker, Op::kAic); }
void NodeWorld::Perform(const RunP2p& effect) { RunOp(effect.worker, Op::kP2p); }
void NodeWorld::Perform(const PrepareP2p& effect) {
  const WorkerKey key = effect.worker;
  if (Chance(hang_)) return;
  if (Chance(crash_ / 2)) return RunOp(key, Op::kP2p);  // answers the op instead, hangs or crashes
  const Ms most = Chance(late_) ? runs_.at(key.run).assign.p2p_deadline * 2 : 2'000;
  const std::string blob = "blob of " + std::to_string(key.rank);
  WorkerSays(key, Delay(most), WorkerP2pPrepared{key, blob, Chance(crash_ / 2) ? "no link" : ""});
}
void NodeWorld::Perform(const QuitWorker& effect) {
  if (!Chance(hang_)) WorkerDies(effect.worker, Delay(6'000), "exit status 0");
}
void NodeWorld::Perform(const KillWorker& effect) {
  WorkerDies(effect.worker, Delay(NodeChecker::kReapMs), "signal 9");
}
void NodeWorld::Perform(const MakeSafe& effect) {
  WorkerSays(effect.worker, Delay(effect.timeout), DeviceSafe{effect.worker, Chance(200), "0.8 V"});
}

// --- Link ----------------------------------------------------------------------------------------

void NodeWorld::Perform(const SendToCoordinator& effect) {
  if (Chance(cut_) && link_ != 0) {
    link_ = 0;
    attached_ = false;
    ConnectLater();
    At(0, [this, life = life_] {
      if (life == life_ && link_ == 0) Step(LinkDown{});
    });
    return;
  }
  heard_until_ = std::max(heard_until_, now_ + Delay(500));
  At(heard_until_ - now_, [this, link = link_, message = effect.message] {
    if (link == link_) std::visit([this](const auto& one) { Hear(one); }, message);
  });
}

void NodeWorld::Say(const CoordinatorMessage& message) {
  if (!attached_) return;
  for (int copies = Chance(repeat_) ? 2 : 1; copies > 0; --copies) {
    if (Chance(lose_)) continue;
    At(Delay(copies == 2 ? 60'000 : 1'000), [this, link = link_, message] {
      if (link == link_) Step(CoordinatorSaid{message});
    });
  }
}

// --- The coordinator -----------------------------------------------------------------------------

void NodeWorld::Hear(const Hello& message) {
  attached_ = true;
  std::map<RunId, bool> held;
  for (const HeldRun& run : message.held) held[run.run] = run.started;
  for (auto& [id, run] : runs_) {
    if (run.over() && held.count(id) != 0) run.discarded = true;
    if (!run.over() && held.count(id) == 0) {
      if (run.discarded) run.gone = true;
      if (!run.gone && !run.got.empty()) Fail("the agent lost a run with outstanding outcomes");
    }
    if (held.count(id) != 0 && run.discarded) Say(Discard{id});
    Push(&run);
  }
}

void NodeWorld::Hear(const Ready& message) {
  KnownRun& run = runs_.at(message.run);
  if (run.started || run.cancelled || run.discarded) return;
  if (Chance(900)) run.started = true;
  Push(&run);
}

void NodeWorld::Hear(const Outcomes& message) {
  Ack ack;
  for (const OutcomeReport& report : message.reports) {
    const OutcomeKey key{report.run, report.rank, report.op};
    const auto [known, added] = runs_.at(report.run).got.emplace(key, report);
    const OutcomeReport& first = known->second;
    if (!added && (first.code != report.code || first.detail != report.detail)) {
      Fail("an outcome of run " + std::to_string(report.run) + " changed");
    }
    ack.keys.push_back(key);
    if (Chance(repeat_)) ack.keys.push_back(key);
  }
  Say(ack);
}

void NodeWorld::Hear(const Discarded& message) {
  KnownRun& run = runs_.at(message.run);
  if (!run.discarded) Fail("discarded without a Discard");
  run.gone = true;
}

void NodeWorld::NewRun() {
  KnownRun run;
  const Ms deadlines[] = {1'000, 10'000, 60'000};
  const Ms graces[] = {0, 2'000, 30'000};
  run.assign = {next_run_++,      "job", {}, deadlines[Random(3)], deadlines[Random(3)],
                graces[Random(3)]};
  const std::int32_t ranks = 1 + static_cast<std::int32_t>(Random(kDevices));
  for (std::int32_t i = 0; i < ranks; ++i) {
    const std::int64_t device = Chance(900) ? i : Random(kDevices + 2) - 1;
    run.assign.ranks.push_back(
        {i, static_cast<std::int32_t>(device), OpSet(static_cast<std::uint8_t>(1 + Random(3)))});
  }
  runs_.emplace(run.assign.run, run);
}

void NodeWorld::Push(KnownRun* run) {
  const RunId id = run->assign.run;
  if (run->over()) return;
  if (run->discarded) return Say(Discard{id});
  if (!run->started) Say(run->assign);
  if (run->started) Say(Start{id});
  if (run->cancelled) Say(Cancel{id});
}

// Adds, cancels and discards runs and stops the agent at random, and sends again what each open run
// still needs.
void NodeWorld::Meddle() {
  At(kPushMs, [this] { Meddle(); });
  if (!healed_ && Chance(300)) NewRun();
  for (auto& [id, run] : runs_) {
    if (run.over()) continue;
    const bool meddle = Chance(meddle_) && Chance(healed_ ? 500 : 200);
    if (meddle) (Chance(600) ? run.cancelled : run.discarded) = true;
    // A healed coordinator must not wait for a run that never starts.
    if (healed_ && !run.started && Chance(100)) run.discarded = true;
    Push(&run);
  }
  if (!healed_ && Chance(meddle_ / 20)) {
    stopping_ = true;
    Step(StopAsked{Random(60'000)});
    At(Delay(60'000), [this, life = life_] {
      if (life == life_ && stopping_) Step(StopForced{});
    });
  }
}

}  // namespace assay::core::node
