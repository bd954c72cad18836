// The simulated streams between agents and the coordinator: ordered in each direction, delayed,
// broken together with some of the messages in flight, sometimes losing or repeating a single
// message, sometimes silent without a break. Each end notices a broken link at its own time; at the
// coordinator the close may overtake earlier messages.
//
// The coordinator's end is a port in place of gRPC's stream: it has one message in flight and reads
// the next only when it is told to. Every port checks that it is used as gRPC's streams allow.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "control/intake.h"
#include "core/event.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Links {
 public:
  explicit Links(World* world) : world_(*world) {}

  // Gives the intake of the coordinator's process something to post.
  std::function<void(const std::function<void(control::Intake*)>&)> post;
  std::function<void(int agent, core::LinkId, core::CoordinatorMessage)> hear;  // to an agent
  std::function<void(int agent, core::LinkId)> lost;  // an agent notices a break

  core::LinkId Connect(int agent);
  void FromAgent(core::LinkId link, const core::AgentMessage& message);
  void BreakAll();
  void BreakAgent(int agent);
  // The agent's links fall silent. The coordinator must find that out by itself.
  void MuteAgent(int agent);
  void AgentDied(int agent);
  // The coordinator's process has died: no message of these links reaches its successor.
  void CoordinatorDied();
  // The number of closed links that the coordinator has not released.
  int kept() const;
  // The number of links that the coordinator's process has and has not ended.
  int open() const;
  int muted() const { return muted_; }  // how many links ever fell silent

 private:
  struct Way {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t last = UINT64_MAX;  // number of the last message that arrives
    core::Ms until = 0;               // arrival of the latest message; none overtakes it
  };
  struct Link final : control::LinkPort {
    Link(Links* all, core::LinkId number, int of) : links(*all), id(number), agent(of) {}
    void ReadNext() override;
    core::Ms SilentFor() const override;
    void Deliver(const core::CoordinatorMessage& message) override;
    void End(const base::Status& status) override;

    Links& links;
    const core::LinkId id;
    const int agent;
    bool broken = false;
    bool agent_knows = false;
    bool told = false;      // its close was posted to the coordinator
    bool orphaned = false;  // its coordinator process has died
    bool opened = false;    // its opening was posted to the coordinator
    bool ended = false;     // by the coordinator
    bool done = false;
    bool mute = false;
    core::Ms quiet_from = 0;  // broken or mute: since when
    core::Ms heard = 0;       // when the last message arrived or was consumed
    bool reading = false;
    bool in_hand = false;  // a message is with the coordinator
    std::deque<core::AgentMessage> unread;
    Way up;
    Way down;
  };
  Link& At(core::LinkId link) { return *links_.at(link); }
  // Posts to the coordinator, a moment later.
  void PostLater(core::LinkId link, core::Ms delay, std::function<void(control::Intake*)> what);
  void Break(core::LinkId link);
  void Pump(Link* link);
  void ToAgent(core::LinkId link, const core::CoordinatorMessage& message);
  // Calls `arrive` when the message arrives; never if it is lost.
  void Send(core::LinkId link, Way Link::*way, bool repeatable,
            const std::function<void()>& arrive);
  void Deliver(core::LinkId link, Way Link::*way, const std::function<void()>& arrive);

  World& world_;
  std::map<core::LinkId, std::shared_ptr<Link>> links_;
  int muted_ = 0;
};

}  // namespace assay::simulation
