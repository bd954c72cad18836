#include "tests/simulation/links.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "tests/simulation/trace.h"

namespace assay::simulation {

namespace {

// How long after agent_timeout the coordinator may take to end a silent link: a tick, a late one,
// and a message that was still in its hands.
constexpr core::Ms kFoundMs = 5'000;
// How long after a close the coordinator may take to end the link.
constexpr core::Ms kEndedMs = 30'000;

}  // namespace

// --- The coordinator's end -----------------------------------------------------------------------

void Links::Link::ReadNext() {
  if (orphaned) return;
  links.world_.Require(!ended && !reading, "a link was read after its end, or twice");
  reading = true;
  in_hand = false;
  heard = links.world_.now();
  links.Pump(this);
}

core::Ms Links::Link::SilentFor() const {
  if (in_hand) return 0;
  const core::Ms now = links.world_.now();
  // The agent's heartbeats arrive all the time.
  return broken || mute ? now - std::max(heard, quiet_from) : 0;
}

void Links::Link::Deliver(const core::CoordinatorMessage& message) {
  if (orphaned) return;
  links.world_.Require(!ended, "a message to a link after its end");
  links.ToAgent(id, message);
}

void Links::Link::End(const base::Status&) {
  if (orphaned) return;
  links.world_.Require(!ended, "a link was ended twice");
  ended = true;
  links.Break(id);
  links.world_.At(links.world_.Delay(links.world_.faults.delay), [this] {
    done = true;
    links.PostLater(id, links.world_.Below(20), [number = id, posted = told](auto* intake) {
      intake->PostLinkDone(number, posted);
    });
  });
}

void Links::PostLater(core::LinkId id, core::Ms delay, std::function<void(control::Intake*)> what) {
  world_.At(delay, [this, id, what = std::move(what)] {
    if (!At(id).orphaned) post(what);
  });
}

void Links::Pump(Link* link) {
  if (!link->reading || link->unread.empty() || link->ended) return;
  link->reading = false;
  link->in_hand = true;
  core::AgentMessage message = std::move(link->unread.front());
  link->unread.pop_front();
  PostLater(link->id, world_.Below(20), [id = link->id, message](control::Intake* intake) {
    intake->PostLinkMessage(id, {}, core::AgentMessage(message));
  });
}

// --- The way between them ------------------------------------------------------------------------

core::LinkId Links::Connect(int agent) {
  const core::LinkId id = world_.NextId();
  links_[id] = std::make_shared<Link>(this, id, agent);
  PostLater(id, world_.Delay(world_.faults.delay), [this, id](control::Intake* intake) {
    At(id).opened = true;
    intake->PostLinkOpened(id, &At(id));
  });
  return id;
}

void Links::FromAgent(core::LinkId id, const core::AgentMessage& message) {
  world_.Trace("from agent", [&] { return std::to_string(id) + ": " + Text(message); });
  // Hello is the first message of a stream and is sent only once, so it is not lost or repeated.
  const bool hello = std::holds_alternative<core::Hello>(message);
  Send(id, &Link::up, !hello, [this, id, message] {
    At(id).unread.push_back(message);
    Pump(&At(id));
  });
}

void Links::ToAgent(core::LinkId id, const core::CoordinatorMessage& message) {
  world_.Trace("to agent", [&] { return std::to_string(id) + ": " + Text(message); });
  Send(id, &Link::down, true, [this, id, message] {
    const Link& at = At(id);
    if (!at.agent_knows) hear(at.agent, id, message);
  });
}

void Links::Send(core::LinkId id, Way Link::*way, bool repeatable,
                 const std::function<void()>& arrive) {
  Link& link = At(id);
  if (link.broken || link.mute) return;
  if (!world_.healed && world_.Chance(world_.faults.cut)) Break(id);
  if (!world_.healed && repeatable && world_.Chance(world_.faults.lose)) return;
  Deliver(id, way, arrive);
  if (repeatable && world_.Chance(world_.faults.repeat)) Deliver(id, way, arrive);
}

void Links::Deliver(core::LinkId id, Way Link::*way, const std::function<void()>& arrive) {
  Way& one = At(id).*way;
  const std::uint64_t number = ++one.sent;
  one.until = std::max(one.until, world_.now() + world_.Delay(world_.faults.delay));
  world_.At(one.until - world_.now(), [this, id, way, number, arrive] {
    Link& link = At(id);
    if (number > (link.*way).last || link.orphaned || link.mute) return;
    (link.*way).arrived = number;
    arrive();
  });
}

void Links::Break(core::LinkId id) {
  Link& link = At(id);
  if (std::exchange(link.broken, true)) return;
  world_.Trace("link", [&] { return std::to_string(id) + " breaks"; });
  for (Way* way : {&link.up, &link.down}) {
    const auto flying = static_cast<std::int64_t>(way->sent - way->arrived);
    way->last = way->arrived + static_cast<std::uint64_t>(world_.Below(flying + 1));
  }
  if (!link.mute) link.quiet_from = world_.now();
  world_.At(world_.Delay(10'000), [this, id] {
    Link& at = At(id);
    if (at.orphaned || at.done || std::exchange(at.told, true)) return;
    PostLater(id, world_.Below(20),
              [id](control::Intake* intake) { intake->PostLinkClosed(id, nullptr); });
    world_.At(kEndedMs, [this, id] {
      const Link& closed = At(id);
      world_.Require(closed.ended || closed.orphaned || !closed.opened,
                     "the coordinator keeps a closed link");
    });
  });
  world_.At(world_.Delay(10'000), [this, id] {
    Link& at = At(id);
    if (std::exchange(at.agent_knows, true)) return;
    lost(at.agent, id);
  });
}

void Links::BreakAll() {
  std::vector<core::LinkId> open;
  for (const auto& [id, link] : links_) {
    if (!link->broken) open.push_back(id);
  }
  for (const core::LinkId id : open) Break(id);
}

void Links::BreakAgent(int agent) {
  std::vector<core::LinkId> open;
  for (const auto& [id, link] : links_) {
    if (link->agent == agent && !link->broken) open.push_back(id);
  }
  for (const core::LinkId id : open) Break(id);
}

void Links::AgentDied(int agent) {
  std::vector<core::LinkId> of_agent;
  for (auto& [id, link] : links_) {
    if (link->agent != agent || link->agent_knows) continue;
    link->agent_knows = true;
    of_agent.push_back(id);
  }
  for (const core::LinkId id : of_agent) Break(id);
}

void Links::CoordinatorDied() {
  BreakAll();
  for (auto& [id, link] : links_) link->orphaned = true;
}

void Links::MuteAgent(int agent) {
  for (const auto& [id, link] : links_) {
    if (link->agent != agent || link->broken || link->orphaned || !link->opened || link->mute) {
      continue;
    }
    world_.Trace("link", [&, shown = id] { return std::to_string(shown) + " falls silent"; });
    ++muted_;
    link->mute = true;
    link->quiet_from = world_.now();
    world_.At(world_.settings.agent_timeout + kFoundMs, [this, silent = link] {
      world_.Require(silent->ended || silent->orphaned,
                     "the coordinator keeps the link of an agent that has fallen silent");
    });
  }
}

int Links::kept() const {
  return static_cast<int>(std::count_if(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second->told && !entry.second->orphaned && !entry.second->ended;
  }));
}

int Links::open() const {
  return static_cast<int>(std::count_if(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second->opened && !entry.second->orphaned && !entry.second->ended;
  }));
}

}  // namespace assay::simulation
