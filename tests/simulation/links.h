// The streams between agents and the coordinator: ordered both ways, delayed, cut with whatever is
// in flight, now and then losing or repeating a single message. A link that broke is noticed at
// each end in its own time; its LinkClosed may overtake what it said before.
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

  std::function<void(Event)> post;                                  // to the coordinator
  std::function<void(int agent, LinkId, CoordinatorMessage)> hear;  // to an agent
  std::function<void(int agent, LinkId)> lost;                      // an agent notices

  LinkId Connect(int agent);
  void FromAgent(LinkId link, const AgentMessage& message);
  void ToAgent(LinkId link, const CoordinatorMessage& message);
  void EndedByCoordinator(LinkId link);
  void Break(LinkId link);
  void BreakAll();
  // The process could not commit: it breaks them all, and lets go of them itself.
  void ForgetAll();
  void BreakAgent(int agent);
  void AgentDied(int agent);
  // The coordinator's process is gone: nothing of these links comes to it any more.
  void CoordinatorDied();
  // Links that are closed and that the coordinator never let go of.
  int kept() const;

 private:
  struct Way {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t last = UINT64_MAX;  // nothing after it arrives
    Ms until = 0;                     // what is sent now arrives after what was sent before
  };
  struct Link {
    int agent = 0;
    bool broken = false;
    bool agent_knows = false;
    bool told = false;      // the coordinator was sent LinkClosed
    bool orphaned = false;  // the process it belonged to is gone
    bool let_go = false;
    Way up;
    Way down;
  };
  // Calls `arrive` when the message is there, unless it is lost on the way.
  void Send(LinkId link, Way Link::*way, bool repeatable, const std::function<void()>& arrive);
  void Deliver(LinkId link, Way Link::*way, const std::function<void()>& arrive);

  World& world_;
  std::map<LinkId, Link> links_;
};

}  // namespace assay::simulation
