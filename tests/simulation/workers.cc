#include "tests/simulation/workers.h"

#include <utility>

namespace assay::simulation {
namespace {

constexpr core::Ms kReapMs = 2'000;

}  // namespace

void Workers::AgentDied() {
  ++life_;
  ++generation_;
  running_.clear();
  safing_.clear();
  events_.clear();
}

void Workers::Emit(core::node::NodeEvent event) {
  events_.push_back(std::move(event));
  changed();
}

// Delivers a worker's event unless the worker's generation has ended.
void Workers::Later(core::Ms delay, core::node::NodeEvent event) {
  world_.At(delay, [this, generation = generation_, said = std::move(event)] {
    if (generation == generation_) Emit(said);
  });
}

void Workers::Perform(const core::node::SpawnWorker& effect) {
  if (!allowed(effect)) return;
  const core::node::WorkerKey key = effect.worker;
  running_[key] = effect.device;
  checker_.WorkerSpawned(index_, key, effect.device);
  if (world_.canary == Canary::kSpawnTwice) {
    checker_.WorkerSpawned(index_, {key.run, key.rank + 100}, effect.device);
  }
  if (Fails(world_.faults.crash / 3)) return Exit(key, world_.Delay(60'000), "signal 6");
  if (Fails(world_.faults.hang)) return;
  if (Fails(world_.faults.crash)) {
    return Later(world_.Delay(3'000), core::node::WorkerFailed{key, "no chip"});
  }
  Later(world_.Delay(Fails(world_.faults.late) ? 70'000 : 3'000), core::node::WorkerOpened{key});
}

void Workers::Perform(const core::node::RunAic& effect) {
  if (!allowed(effect)) return;
  checker_.OpRun(index_, effect.worker, core::Op::kAic);
  if (world_.canary == Canary::kRunTwice) checker_.OpRun(index_, effect.worker, core::Op::kAic);
  RunOp(effect.worker, core::Op::kAic);
}

void Workers::Perform(const core::node::PrepareP2p& effect) {
  if (!allowed(effect)) return;
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

void Workers::Perform(const core::node::RunP2p& effect) {
  if (!allowed(effect)) return;
  checker_.OpRun(index_, effect.worker, core::Op::kP2p);
  RunOp(effect.worker, core::Op::kP2p);
}

void Workers::RunOp(const core::node::WorkerKey& key, core::Op op) {
  const core::Ms deadline = DeadlineOf(op);
  if (world_.Chance(200)) {
    Later(world_.Delay(deadline / 2), core::node::WorkerProgressed{key, op, 50, "half"});
  }
  if (Fails(world_.faults.hang)) return;
  if (Fails(world_.faults.crash)) {
    return Exit(key, world_.Delay(deadline), "signal 11\nsegfault");
  }
  const core::Ms delay = Fails(world_.faults.late)
                             ? deadline + world_.Delay(world_.settings.kill_grace + 2'000)
                             : world_.Delay(deadline / 2);
  const auto code = Fails(world_.faults.bad)
                        ? static_cast<core::OutcomeCode>(world_.Below(core::kOutcomeCodes))
                        : core::OutcomeCode::kOk;
  Later(delay, core::node::WorkerOpDone{key, op, code, "done"});
}

void Workers::Perform(const core::node::QuitWorker& effect) {
  if (!allowed(effect) || Fails(world_.faults.hang)) return;
  Exit(effect.worker, world_.Delay(world_.healed ? 1'000 : 4'000), "exit status 0");
}

void Workers::Perform(const core::node::KillWorker& effect) {
  if (allowed(effect)) Exit(effect.worker, world_.Delay(kReapMs), "signal 9");
}

void Workers::Exit(const core::node::WorkerKey& key, core::Ms delay, const std::string& how) {
  world_.At(delay, [this, generation = generation_, key, how] {
    if (generation != generation_ || running_.erase(key) == 0) return;
    checker_.WorkerGone(index_, key);
    Emit(core::node::WorkerGone{key, how});
  });
}

void Workers::Perform(const core::node::MakeSafe& effect, core::Ms) {
  if (!allowed(effect)) return;
  checker_.MakingSafe(index_, effect.worker, effect.device);
  safing_.insert(effect.worker);
  const bool changed_voltage = Fails(world_.faults.voltage);
  world_.At(world_.Delay(effect.timeout),
            [this, generation = generation_, key = effect.worker, changed_voltage] {
              if (generation != generation_) return;
              safing_.erase(key);
              checker_.DeviceSafed(index_, key);
              Emit(core::node::DeviceSafe{key, changed_voltage, "0.8 V"});
            });
}

void Workers::KillAll() {
  ++generation_;
  events_.clear();
  for (const auto& [key, device] : running_) {
    world_.At(world_.Delay(kReapMs), [this, life = life_, one = key] {
      if (life != life_) return;
      running_.erase(one);
      checker_.WorkerGone(index_, one);
      changed();
    });
  }
  for (const core::node::WorkerKey& key : safing_) {
    world_.At(world_.Delay(kReapMs), [this, life = life_, one = key] {
      if (life != life_) return;
      safing_.erase(one);
      checker_.DeviceSafed(index_, one);
      changed();
    });
  }
}

void Workers::Collect(core::Ms, std::vector<core::node::NodeEvent>* out) {
  for (core::node::NodeEvent& event : events_) out->push_back(std::move(event));
  events_.clear();
}

core::Ms Workers::NextDeadline(core::Ms now) const {
  return events_.empty() ? now + 3'600'000 : now;
}

}  // namespace assay::simulation
