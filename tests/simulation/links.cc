#include "tests/simulation/links.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "tests/simulation/trace.h"

namespace assay::simulation {

core::LinkId Links::Connect(int agent) {
  const core::LinkId id = world_.NextId();
  links_[id].agent = agent;
  return id;
}

void Links::FromAgent(core::LinkId id, const core::AgentMessage& message) {
  world_.Trace("from agent", [&] { return std::to_string(id) + ": " + Text(message); });
  // Hello is the first message of a stream and is sent only once, so it is not lost or repeated.
  const bool hello = std::holds_alternative<core::Hello>(message);
  Send(id, &Link::up, !hello, [this, id, message] { post(core::LinkMessage{id, message}); });
}

void Links::ToAgent(core::LinkId id, const core::CoordinatorMessage& message) {
  const auto link = links_.find(id);
  if (link == links_.end()) return world_.Fail("a message to a link that never existed");
  world_.Trace("to agent", [&] { return std::to_string(id) + ": " + Text(message); });
  Send(id, &Link::down, true, [this, id, message] {
    const Link& at = links_.at(id);
    if (!at.agent_knows) hear(at.agent, id, message);
  });
}

void Links::Send(core::LinkId id, Way Link::*way, bool repeatable,
                 const std::function<void()>& arrive) {
  Link& link = links_.at(id);
  if (link.broken) return;
  if (!world_.healed && world_.Chance(world_.faults.cut)) Break(id);
  if (!world_.healed && repeatable && world_.Chance(world_.faults.lose)) return;
  Deliver(id, way, arrive);
  if (repeatable && world_.Chance(world_.faults.repeat)) Deliver(id, way, arrive);
}

void Links::Deliver(core::LinkId id, Way Link::*way, const std::function<void()>& arrive) {
  Way& one = links_.at(id).*way;
  const std::uint64_t number = ++one.sent;
  one.until = std::max(one.until, world_.now() + world_.Delay(world_.faults.delay));
  world_.At(one.until - world_.now(), [this, id, way, number, arrive] {
    Link& link = links_.at(id);
    if (number > (link.*way).last || link.orphaned) return;
    (link.*way).arrived = number;
    arrive();
  });
}

void Links::Break(core::LinkId id) {
  Link& link = links_.at(id);
  if (std::exchange(link.broken, true)) return;
  world_.Trace("link", [&] { return std::to_string(id) + " breaks"; });
  for (Way* way : {&link.up, &link.down}) {
    const auto flying = static_cast<std::int64_t>(way->sent - way->arrived);
    way->last = way->arrived + static_cast<std::uint64_t>(world_.Below(flying + 1));
  }
  world_.At(world_.Delay(10'000), [this, id] {
    Link& at = links_.at(id);
    if (at.orphaned || std::exchange(at.told, true)) return;
    post(core::LinkClosed{id});
  });
  world_.At(world_.Delay(10'000), [this, id] {
    Link& at = links_.at(id);
    if (std::exchange(at.agent_knows, true)) return;
    lost(at.agent, id);
  });
}

void Links::EndedByCoordinator(core::LinkId id) {
  const auto link = links_.find(id);
  if (link == links_.end()) return world_.Fail("ended: a link that never existed");
  link->second.let_go = true;
  Break(id);
}

void Links::BreakAll() {
  std::vector<core::LinkId> open;
  for (const auto& [id, link] : links_) {
    if (!link.broken) open.push_back(id);
  }
  for (const core::LinkId id : open) Break(id);
}

void Links::ForgetAll() {
  BreakAll();
  for (auto& [id, link] : links_) link.let_go = true;
}

void Links::BreakAgent(int agent) {
  std::vector<core::LinkId> open;
  for (const auto& [id, link] : links_) {
    if (link.agent == agent && !link.broken) open.push_back(id);
  }
  for (const core::LinkId id : open) Break(id);
}

void Links::AgentDied(int agent) {
  std::vector<core::LinkId> of_agent;
  for (auto& [id, link] : links_) {
    if (link.agent != agent || link.agent_knows) continue;
    link.agent_knows = true;
    of_agent.push_back(id);
  }
  for (const core::LinkId id : of_agent) Break(id);
}

void Links::CoordinatorDied() {
  BreakAll();
  for (auto& [id, link] : links_) link.orphaned = true;
}

int Links::kept() const {
  return static_cast<int>(std::count_if(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second.told && !entry.second.orphaned && !entry.second.let_go;
  }));
}

}  // namespace assay::simulation
