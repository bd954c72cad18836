// A simulated agent process: the real Supervisor, its spool, and the workers of its devices, which
// open, fail to open, answer with any code, answer late, hang or crash.
//
// The process may die at any point: before its commit, after it, or between two effects; a failed
// commit of the spool ends it too. Its workers die with it. Each agent has a clock of its own that
// differs from the world's.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "core/event.h"
#include "core/node/supervisor.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Agent {
 public:
  static constexpr std::int32_t kDevices = 4;
  // REQUIRES: world and checker outlive it.
  Agent(World* world, Checker* checker, int index);

  std::function<std::optional<core::LinkId>()> connect;  // no value: the coordinator is unreachable
  std::function<void(core::LinkId, core::AgentMessage)> say;
  std::function<void()> died;

  static std::string NameOf(int index) { return std::string(1, static_cast<char>('a' + index)); }

  void Start();
  void Die();
  void Stop(core::Ms grace);
  void Hear(core::LinkId link, core::CoordinatorMessage message);
  void Lost(core::LinkId link);
  // Why the agent is not at rest; "" if it is.
  std::string Pending() const;

 private:
  struct Worker {
    std::int32_t device = 0;
    bool gone = false;  // the process has exited and WorkerGone is delivered
  };
  core::Ms Now() const { return world_.now() + clock_; }
  bool Fails(int permille) { return !world_.healed && world_.Chance(permille); }
  void Later(core::Ms delay, core::node::NodeEvent event);
  void Step(const core::node::NodeEvent& event);
  void TickLater();
  void ConnectLater();

  void Perform(const core::node::SendToCoordinator& effect);
  void Perform(const core::node::SpawnWorker& effect);
  void Perform(const core::node::RunAic& effect);
  void Perform(const core::node::PrepareP2p& effect);
  void Perform(const core::node::RunP2p& effect);
  void Perform(const core::node::QuitWorker& effect);
  void Perform(const core::node::KillWorker& effect);
  void Perform(const core::node::MakeSafe& effect);
  void RunOp(const core::node::WorkerKey& key, core::Op op);
  void Dies(const core::node::WorkerKey& key, core::Ms delay, const std::string& how);
  core::Ms DeadlineOf(core::Op op) const {
    return op == core::Op::kAic ? world_.settings.aic_deadline : world_.settings.p2p_deadline;
  }

  World& world_;
  Checker& checker_;
  const int index_;
  core::Node self_;
  core::node::Spooled spool_;
  std::optional<core::node::Supervisor> supervisor_;
  std::map<core::node::WorkerKey, Worker> workers_;
  std::optional<core::LinkId> link_;
  std::optional<core::Ms> tick_at_;
  core::Ms clock_ = 0;
  int life_ = 0;
  bool stopping_ = false;
};

}  // namespace assay::simulation
