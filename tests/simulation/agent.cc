#include "tests/simulation/agent.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/trace.h"

namespace assay::simulation {

constexpr core::Ms kReapMs = 2'000;

Agent::Agent(World* world, Checker* checker, int index)
    : world_(*world), checker_(*checker), index_(index) {
  self_.name = NameOf(index);
  self_.identity = self_.name + "-1";
  self_.version = "1";
  self_.host_name = "host-" + self_.name;
  self_.fqdn = self_.host_name + ".example";
  self_.addresses = {"127.0.0.1", "10.0.0." + std::to_string(index + 1)};
  self_.driver = "sim";
  for (std::int32_t i = 0; i < kDevices; ++i) self_.devices.push_back({i, "sim", ""});
}

void Agent::Start() {
  if (supervisor_) return;
  world_.Trace(self_.name.c_str(), [&] { return "starts as " + self_.identity; });
  ++life_;
  clock_ = world_.Below(10'000'000) - 500'000;
  tick_at_.reset();
  stopping_ = false;
  supervisor_.emplace(self_, spool_);
  TickLater();
  ConnectLater();
}

void Agent::Die() {
  if (!supervisor_) return;
  world_.Trace(self_.name.c_str(), [] { return std::string("dies"); });
  supervisor_.reset();
  ++life_;
  workers_.clear();
  link_.reset();
  checker_.AgentDied(index_);
  died();
  if (world_.Chance(world_.faults.identity_lost) && !world_.healed) {
    spool_.clear();
    self_.identity = self_.name + "-" + std::to_string(world_.NextId());
  }
  world_.At(world_.Delay(world_.healed ? 1'000 : 60'000), [this] { Start(); });
}

void Agent::Stop(core::Ms grace) {
  if (!supervisor_) return;
  stopping_ = true;
  Step(core::node::StopAsked{grace});
  Later(world_.Delay(60'000), core::node::StopForced{});
}

void Agent::Hear(core::LinkId link, core::CoordinatorMessage message) {
  if (supervisor_ && link_ == link) Step(core::node::CoordinatorSaid{std::move(message)});
}

void Agent::Lost(core::LinkId link) {
  if (!supervisor_ || link_ != link) return;
  link_.reset();
  ConnectLater();
  Step(core::node::LinkDown{});
}

void Agent::ConnectLater() {
  world_.At(world_.Delay(5'000), [this, life = life_] {
    if (life != life_ || !supervisor_ || link_) return;
    link_ = connect();
    if (!link_) return ConnectLater();
    Step(core::node::LinkUp{});
  });
}

std::string Agent::Pending() const {
  if (!supervisor_) return "agent " + self_.name + " is down";
  if (!link_) return "agent " + self_.name + " has no link";
  if (!supervisor_->idle()) return "agent " + self_.name + " is not idle";
  if (supervisor_->owing()) return "agent " + self_.name + " has an unacknowledged outcome";
  if (!spool_.empty()) return "agent " + self_.name + " has a run in its spool";
  return "";
}

// Delivers a worker's event unless the agent's process has died since.
void Agent::Later(core::Ms delay, core::node::NodeEvent event) {
  world_.At(delay, [this, life = life_, said = std::move(event)] {
    if (life == life_ && supervisor_) Step(said);
  });
}

void Agent::Step(const core::node::NodeEvent& event) {
  world_.Trace(self_.name.c_str(), [&] { return Text(event); });
  if (const auto* gone = std::get_if<core::node::WorkerGone>(&event)) workers_.erase(gone->worker);
  if (const auto* safe = std::get_if<core::node::DeviceSafe>(&event)) {
    checker_.DeviceSafed(index_, safe->worker);
  }
  core::node::NodeOutput out;
  supervisor_->Step(event, Now(), &out);
  ++world_.steps;
  if (Fails(world_.faults.agent_dies) || Fails(world_.faults.spool_fails)) return Die();
  for (const core::node::SpoolRecord& record : out.records) {
    checker_.Spooled(index_, record);
    if (world_.canary == Canary::kSpoolForgets &&
        std::holds_alternative<core::node::SpoolBegun>(record)) {
      continue;
    }
    core::node::Apply(record, &spool_);
  }
  world_.Require(spool_ == supervisor_->spooled(),
                 "an agent's spool differs from its supervisor's state");
  if (Fails(world_.faults.agent_dies)) return Die();
  const int life = life_;
  for (const core::node::NodeEffect& effect : out.effects) {
    world_.Trace(self_.name.c_str(), [&] { return "-> " + Text(effect); });
    std::visit([this](const auto& one) { Perform(one); }, effect);
    if (life != life_) return;
    if (Fails(world_.faults.agent_dies)) return Die();
  }
  if (stopping_ && supervisor_->idle()) return Die();
  TickLater();
}

void Agent::TickLater() {
  const core::Ms due = std::max(supervisor_->NextDeadline(Now()), Now());
  if (tick_at_ && *tick_at_ <= due) return;
  tick_at_ = due;
  world_.At(due - Now(), [this, due, life = life_] {
    if (life != life_ || !supervisor_ || tick_at_ != due) return;
    tick_at_.reset();
    Step(core::node::NodeTicked{});
  });
}

// --- Effects -------------------------------------------------------------------------------------

void Agent::Perform(const core::node::SendToCoordinator& effect) {
  if (!link_) return;
  core::AgentMessage message = effect.message;
  auto* outcomes = std::get_if<core::Outcomes>(&message);
  if (outcomes != nullptr && world_.canary == Canary::kForgeOutcome) {
    for (core::OutcomeReport& report : outcomes->reports) report.code = core::OutcomeCode::kFaulty;
  }
  say(*link_, std::move(message));
}

void Agent::Perform(const core::node::SpawnWorker& effect) {
  const core::node::WorkerKey key = effect.worker;
  workers_[key].device = effect.device;
  checker_.WorkerSpawned(index_, key, effect.device);
  if (world_.canary == Canary::kSpawnTwice) {
    checker_.WorkerSpawned(index_, {key.run, key.rank + 100}, effect.device);
  }
  if (Fails(world_.faults.crash / 3)) return Dies(key, world_.Delay(60'000), "signal 6");
  if (Fails(world_.faults.hang)) return;
  if (Fails(world_.faults.crash)) {
    return Later(world_.Delay(3'000), core::node::WorkerFailed{key, "no chip"});
  }
  Later(world_.Delay(Fails(world_.faults.late) ? 70'000 : 3'000), core::node::WorkerOpened{key});
}

void Agent::Perform(const core::node::RunAic& effect) {
  checker_.OpRun(index_, effect.worker, core::Op::kAic);
  if (world_.canary == Canary::kRunTwice) checker_.OpRun(index_, effect.worker, core::Op::kAic);
  RunOp(effect.worker, core::Op::kAic);
}

void Agent::Perform(const core::node::PrepareP2p& effect) {
  const core::node::WorkerKey key = effect.worker;
  checker_.OpPrepared(index_, key);
  if (Fails(world_.faults.hang)) return;
  // The worker answers the op instead of preparing, hangs or crashes.
  if (Fails(world_.faults.crash / 2)) return RunOp(key, core::Op::kP2p);
  const std::string error = Fails(world_.faults.crash / 2) ? "no link" : "";
  const core::Ms most = Fails(world_.faults.late) ? 2 * DeadlineOf(core::Op::kP2p) : 1'000;
  Later(world_.Delay(most),
        core::node::WorkerP2pPrepared{key, "blob of " + std::to_string(key.rank), error});
}

void Agent::Perform(const core::node::RunP2p& effect) {
  checker_.OpRun(index_, effect.worker, core::Op::kP2p);
  RunOp(effect.worker, core::Op::kP2p);
}

void Agent::RunOp(const core::node::WorkerKey& key, core::Op op) {
  const core::Ms deadline = DeadlineOf(op);
  if (world_.Chance(200)) {
    Later(world_.Delay(deadline / 2), core::node::WorkerProgressed{key, op, 50, "half"});
  }
  if (Fails(world_.faults.hang)) return;
  if (Fails(world_.faults.crash)) {
    return Dies(key, world_.Delay(deadline), "signal 11\nsegfault");
  }
  const core::Ms delay = Fails(world_.faults.late)
                             ? deadline + world_.Delay(world_.settings.kill_grace + 2'000)
                             : world_.Delay(deadline / 2);
  const auto code = Fails(world_.faults.bad)
                        ? static_cast<core::OutcomeCode>(world_.Below(core::kOutcomeCodes))
                        : core::OutcomeCode::kOk;
  Later(delay, core::node::WorkerOpDone{key, op, code, "done"});
}

void Agent::Perform(const core::node::QuitWorker& effect) {
  if (Fails(world_.faults.hang)) return;
  Dies(effect.worker, world_.Delay(world_.healed ? 1'000 : 4'000), "exit status 0");
}
void Agent::Perform(const core::node::KillWorker& effect) {
  Dies(effect.worker, world_.Delay(kReapMs), "signal 9");
}
void Agent::Dies(const core::node::WorkerKey& key, core::Ms delay, const std::string& how) {
  world_.At(delay, [this, life = life_, key, how] {
    if (life != life_ || !supervisor_) return;
    const auto worker = workers_.find(key);
    if (worker == workers_.end() || std::exchange(worker->second.gone, true)) return;
    checker_.WorkerGone(index_, key);
    Step(assay::core::node::WorkerGone{key, how});
  });
}

void Agent::Perform(const core::node::MakeSafe& effect) {
  checker_.MakingSafe(index_, effect.worker, effect.device);
  Later(world_.Delay(effect.timeout),
        core::node::DeviceSafe{effect.worker, Fails(world_.faults.voltage), "0.8 V"});
}

}  // namespace assay::simulation
