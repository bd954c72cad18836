// The simulated worker processes of one agent. They open their devices, fail to open them, answer
// with any code, answer late, hang or crash. They die with the agent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Workers final : public agent::WorkersPort {
 public:
  // REQUIRES: world and checker outlive it.
  Workers(World* world, Checker* checker, int index)
      : world_(*world), checker_(*checker), index_(index) {}

  std::function<void()> changed;  // Collect would return something, or empty() has changed
  // Called before each effect with its text. False: the agent has died, so the effect never leaves
  // it.
  std::function<bool(const core::node::NodeEffect&)> allowed;

  void AgentDied();

  void Perform(const core::node::SpawnWorker& effect) override;
  void Perform(const core::node::RunAic& effect) override;
  void Perform(const core::node::PrepareP2p& effect) override;
  void Perform(const core::node::RunP2p& effect) override;
  void Perform(const core::node::QuitWorker& effect) override;
  void Perform(const core::node::KillWorker& effect) override;
  void Perform(const core::node::MakeSafe& effect, core::Ms now) override;
  void Collect(core::Ms now, std::vector<core::node::NodeEvent>* out) override;
  core::Ms NextDeadline(core::Ms now) const override;
  bool empty() const override { return running_.empty() && safing_.empty() && events_.empty(); }
  void KillAll() override;

 private:
  bool Fails(int permille) { return !world_.healed && world_.Chance(permille); }
  void Emit(core::node::NodeEvent event);
  void Later(core::Ms delay, core::node::NodeEvent event);
  void RunOp(const core::node::WorkerKey& key, core::Op op);
  void Exit(const core::node::WorkerKey& key, core::Ms delay, const std::string& how);
  core::Ms DeadlineOf(core::Op op) const {
    return op == core::Op::kAic ? world_.settings.aic_deadline : world_.settings.p2p_deadline;
  }

  World& world_;
  Checker& checker_;
  const int index_;
  std::map<core::node::WorkerKey, std::int32_t> running_;  // -> device
  std::set<core::node::WorkerKey> safing_;
  std::vector<core::node::NodeEvent> events_;
  // Messages of a process of an earlier generation are discarded: it was killed by KillAll
  // or died with the agent.
  int generation_ = 0;
  int life_ = 0;  // of the agent
};

}  // namespace assay::simulation
