// The simulated streams between agents and the coordinator: ordered in each direction, delayed,
// broken together with some of the messages in flight, sometimes losing or repeating a single
// message. Each end notices a broken link at its own time; LinkClosed may overtake earlier
// messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "core/event.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Links {
 public:
  explicit Links(World* world) : world_(*world) {}

  std::function<void(core::Event)> post;  // to the coordinator
  std::function<void(int agent, core::LinkId, core::CoordinatorMessage)> hear;  // to an agent
  std::function<void(int agent, core::LinkId)> lost;  // an agent notices a break

  core::LinkId Connect(int agent);
  void FromAgent(core::LinkId link, const core::AgentMessage& message);
  void ToAgent(core::LinkId link, const core::CoordinatorMessage& message);
  void EndedByCoordinator(core::LinkId link);
  void Break(core::LinkId link);
  void BreakAll();
  // The coordinator could not commit: it breaks all links and releases them without EndLink.
  void ForgetAll();
  void BreakAgent(int agent);
  void AgentDied(int agent);
  // The coordinator's process has died: no message of these links reaches its successor.
  void CoordinatorDied();
  // The number of closed links that the coordinator has not released.
  int kept() const;

 private:
  struct Way {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t last = UINT64_MAX;  // number of the last message that arrives
    core::Ms until = 0;               // arrival of the latest message; none overtakes it
  };
  struct Link {
    int agent = 0;
    bool broken = false;
    bool agent_knows = false;
    bool told = false;      // LinkClosed was posted to the coordinator
    bool orphaned = false;  // its coordinator process has died
    bool let_go = false;    // released by the coordinator: EndLink, or all at a failed commit
    Way up;
    Way down;
  };
  // Calls `arrive` when the message arrives; never if it is lost.
  void Send(core::LinkId link, Way Link::*way, bool repeatable,
            const std::function<void()>& arrive);
  void Deliver(core::LinkId link, Way Link::*way, const std::function<void()>& arrive);

  World& world_;
  std::map<core::LinkId, Link> links_;
};

}  // namespace assay::simulation
