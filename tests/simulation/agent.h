// A simulated agent process: the turn of the real agent, with its supervisor, on a simulated link,
// spool and worker processes.
//
// The process may die at any point: before a commit, after it, or between two effects. Its workers
// die with it. The spool may refuse commits and loads for a while. Each agent has a clock of its
// own that differs from the world's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "agent/turn.h"
#include "core/event.h"
#include "core/node/supervisor.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/workers.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Agent final : private agent::LinkPort, private agent::SpoolPort {
 public:
  static constexpr std::int32_t kDevices = 4;
  // REQUIRES: world and checker outlive it.
  Agent(World* world, Checker* checker, int index);

  std::function<std::optional<core::LinkId>()> connect;  // no value: the coordinator is unreachable
  std::function<void(core::LinkId, core::AgentMessage)> say;
  std::function<void()> disconnect;  // the agent's end of its link is closed

  static std::string NameOf(int index) { return std::string(1, static_cast<char>('a' + index)); }

  void Start();
  void Die();
  void Stop(core::Ms grace);
  void Hear(core::LinkId link, core::CoordinatorMessage message);
  void Lost(core::LinkId link);
  // Why the agent is not at rest; "" if it is.
  std::string Pending() const;

 private:
  core::Ms Now() const { return world_.now() + clock_; }
  bool Fails(int permille) { return !world_.healed && world_.Chance(permille); }
  bool Allowed(const core::node::NodeEffect& effect);
  void Wake();
  void TurnAt(core::Ms at);
  void TakeTurn();
  void ConnectLater();

  void Send(const core::AgentMessage& message, core::Ms now) override;
  void Consumed() override { can_read_ = true; }
  bool up() const override { return link_.has_value(); }
  std::uint64_t stream() const override { return link_.value_or(0); }
  void Drop(const std::string& why, std::vector<core::node::NodeEvent>* out) override;
  void Close(core::Ms now) override;
  bool closed() const override { return closing_ && !link_; }

  base::Status Commit(const std::vector<core::node::SpoolRecord>& records) override;
  base::Result<core::node::Spooled> Load() override;
  base::Status CheckDisk();

  World& world_;
  Checker& checker_;
  const int index_;
  core::Node self_;
  core::node::Spooled spool_;
  core::Ms disk_fails_until_ = 0;
  Workers workers_;
  std::optional<agent::Turn> turn_;

  std::optional<core::LinkId> link_;
  std::vector<core::node::NodeEvent> link_events_;  // LinkUp, LinkDown that no turn has taken
  std::deque<core::CoordinatorMessage> unread_;     // of link_
  bool can_read_ = true;                            // a turn takes one message of unread_
  bool closing_ = false;

  std::optional<core::Ms> turn_at_;
  core::Ms last_turn_ = 0;
  int turns_at_once_ = 0;  // at last_turn_
  core::Ms clock_ = 0;
  int life_ = 0;
  bool dying_ = false;  // dies as soon as the call of the turn returns; nothing leaves it any more
};

}  // namespace assay::simulation
