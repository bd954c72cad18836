// An agent's process: the real Supervisor, its spool, and the workers of its devices, which open,
// fail to open, answer with any code, answer late, hang or crash.
//
// It dies at any point: before its commit, after it, in the middle of performing effects; a commit
// of its spool that fails is a death too. Its workers die with it. Its clock is its own.
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

  std::function<std::optional<LinkId>()> connect;  // none: the coordinator cannot be reached
  std::function<void(LinkId, AgentMessage)> say;
  std::function<void()> died;

  static std::string NameOf(int index) { return std::string(1, static_cast<char>('a' + index)); }

  void Start();
  void Die();
  void Stop(Ms grace);
  void Hear(LinkId link, CoordinatorMessage message);
  void Lost(LinkId link);
  // Why it is not at rest; "": it is.
  std::string Pending() const;

 private:
  struct Worker {
    std::int32_t device = 0;
    bool gone = false;  // its WorkerGone is on its way
  };
  Ms Now() const { return world_.now() + clock_; }
  bool Fails(int permille) { return !world_.healed && world_.Chance(permille); }
  void Later(Ms delay, NodeEvent event);
  void Step(const NodeEvent& event);
  void TickLater();
  void ConnectLater();

  void Perform(const SendToCoordinator& effect);
  void Perform(const SpawnWorker& effect);
  void Perform(const RunAic& effect);
  void Perform(const PrepareP2p& effect);
  void Perform(const RunP2p& effect);
  void Perform(const QuitWorker& effect);
  void Perform(const KillWorker& effect);
  void Perform(const MakeSafe& effect);
  void RunOp(const WorkerKey& key, Op op);
  void Dies(const WorkerKey& key, Ms delay, const std::string& how);
  Ms DeadlineOf(Op op) const {
    return op == Op::kAic ? world_.settings.aic_deadline : world_.settings.p2p_deadline;
  }

  World& world_;
  Checker& checker_;
  const int index_;
  Node self_;
  Spooled spool_;
  std::optional<Supervisor> supervisor_;
  std::map<WorkerKey, Worker> workers_;
  std::optional<LinkId> link_;
  std::optional<Ms> tick_at_;
  Ms clock_ = 0;
  int life_ = 0;
  bool stopping_ = false;
};

}  // namespace assay::simulation
