#include "tests/simulation/simulation.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/log.h"

namespace assay::simulation {
namespace {

constexpr core::Ms kMinute = 60'000;
constexpr core::Ms kSettleMs = 2 * 60 * kMinute;  // longer than every deadline

}  // namespace

Simulation::Simulation(std::uint64_t seed, Canary canary, std::uint64_t steps)
    : world_(seed, canary),
      checker_(&world_),
      links_(&world_),
      streams_(&world_),
      clients_(&world_, &streams_),
      followers_(&world_, &streams_),
      coordinator_(&world_, &checker_),
      apart_until_(kAgents, 0),
      steps_(steps) {
  for (int i = 0; i < kAgents; ++i) {
    agents_.push_back(std::make_unique<Agent>(&world_, &checker_, i));
  }
  base::SetLogLevel(base::LogLevel::kOff);
  Wire();
}

void Simulation::Wire() {
  const auto call = [this](core::Event event) { coordinator_.Call(std::move(event)); };
  const auto post = [this](const std::function<void(control::Intake*)>& what) {
    coordinator_.Post(what);
  };
  links_.post = post;
  streams_.post = post;
  streams_.room = [this](core::StreamId stream) { coordinator_.StreamHasRoom(stream); };
  clients_.call = call;
  clients_.reachable = [this] { return coordinator_.accepts(); };
  clients_.newest_run = [this] { return coordinator_.disk().all.next_run - 1; };
  followers_.call = call;
  followers_.reachable = clients_.reachable;
  links_.hear = [this](int agent, core::LinkId link, core::CoordinatorMessage message) {
    agents_[static_cast<std::size_t>(agent)]->Hear(link, std::move(message));
  };
  links_.lost = [this](int agent, core::LinkId link) {
    agents_[static_cast<std::size_t>(agent)]->Lost(link);
  };
  for (int i = 0; i < kAgents; ++i) WireAgent(i);
  WireCoordinator();
}

void Simulation::WireCoordinator() {
  coordinator_.stepped = [this](const core::Durable& durable) { followers_.Stepped(durable); };
  coordinator_.committed = [this] { followers_.Committed(); };
  coordinator_.loaded = [this](const core::Durable& durable) { followers_.Loaded(durable); };
  coordinator_.outage = [this] {
    followers_.Outage();
    clients_.Outage();
  };
  coordinator_.answered = [this](const core::Answer& answer) {
    if (!followers_.Answered(answer)) clients_.Answered(answer);
  };
  coordinator_.failed = [this](core::CallId call) { followers_.Failed(call); };
  coordinator_.released = [this](const core::Effect& effect) { Released(effect); };
  coordinator_.stopped = [this] {
    world_.Require(streams_.open() == 0 && links_.open() == 0 && coordinator_.waiting() == 0,
                   "a stop left a stream, a link or a call open");
  };
  coordinator_.died = [this] {
    streams_.CoordinatorDied();
    links_.CoordinatorDied();
    followers_.CoordinatorDied();
    clients_.CoordinatorDied();
  };
}

void Simulation::Released(const core::Effect& effect) {
  std::visit(
      [this](const auto& one) {
        using One = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<One, core::ForgetDeleted>) followers_.HearForgotten(one);
        if constexpr (requires { one.stream; }) {
          if (followers_.Owns(one.stream)) return;
        }
        if constexpr (requires { clients_.Hear(one); }) clients_.Hear(one);
      },
      effect);
}

void Simulation::WireAgent(int index) {
  Agent& agent = *agents_[static_cast<std::size_t>(index)];
  agent.connect = [this, index]() -> std::optional<core::LinkId> {
    const bool apart = apart_until_[static_cast<std::size_t>(index)] > world_.now();
    if (!coordinator_.accepts() || apart) return std::nullopt;
    return links_.Connect(index);
  };
  agent.say = [this](core::LinkId link, core::AgentMessage message) {
    links_.FromAgent(link, message);
  };
  agent.disconnect = [this, index] { links_.AgentDied(index); };
}

void Simulation::Meddle(int index) {
  if (world_.healed) return;
  world_.At(kMinute, [this, index] { Meddle(index); });
  const auto at = static_cast<std::size_t>(index);
  if (world_.Chance(world_.faults.partition)) {
    apart_until_[at] = world_.now() + world_.Delay(10 * kMinute);
    links_.BreakAgent(index);
  }
  if (world_.Chance(world_.faults.mute)) links_.MuteAgent(index);
  if (world_.Chance(world_.faults.stop)) agents_[at]->Stop(world_.Delay(kMinute));
}

void Simulation::StopCoordinator() {
  if (world_.healed) return;
  world_.At(kMinute, [this] { StopCoordinator(); });
  if (world_.Chance(world_.faults.coordinator_stops)) coordinator_.Stop();
}

std::string Simulation::Run() {
  coordinator_.Start();
  for (const auto& agent : agents_) agent->Start();
  clients_.Start();
  followers_.Start();
  for (int i = 0; i < kAgents; ++i) Meddle(i);
  StopCoordinator();
  while (world_.problem().empty() && world_.steps < steps_ && world_.Next()) {
  }
  if (!world_.problem().empty()) return world_.problem();
  Heal();
  if (!Settle()) return world_.problem();
  for (const std::string& job : clients_.Jobs()) {
    TestJob(job);
    if (!Settle()) return world_.problem();
  }
  checker_.CoordinatorStarted(coordinator_.disk());
  followers_.CheckAll();
  return world_.problem();
}

void Simulation::Heal() {
  world_.Trace("world", [] { return std::string("heals"); });
  world_.healed = true;
  // The delay of a healthy network must stay well below the shortest deadline (2 s).
  world_.faults.delay = std::min<core::Ms>(world_.faults.delay, 200);
  coordinator_.Start();
  for (const auto& agent : agents_) agent->Start();
  std::fill(apart_until_.begin(), apart_until_.end(), 0);
  // New links send again whatever single messages were lost.
  links_.BreakAll();
  clients_.Heal();
  followers_.Heal();
}

bool Simulation::Settle() {
  const core::Ms end = world_.now() + kSettleMs;
  core::Ms look = world_.now() + kMinute;
  while (world_.problem().empty()) {
    if (world_.now() >= look) {
      const std::string pending = Pending();
      if (pending.empty()) return true;
      if (world_.now() >= end) world_.Fail("the world does not come to rest: " + pending);
      look = world_.now() + kMinute;
    }
    if (!world_.Next()) world_.Fail("no event is scheduled any more");
  }
  return false;
}

// Nothing fails any more: a test of a job whose devices exist must succeed.
void Simulation::TestJob(const std::string& name) {
  const core::Durable& all = coordinator_.disk().all;
  const auto job = all.jobs.find(name);
  if (job == all.jobs.end() || job->second.table->ranks.empty()) return;
  for (const rank_table::TableNode& node : job->second.table->nodes) {
    if (all.nodes.count(node.name) == 0) return;  // no agent
  }
  if (job->second.owing_until > world_.now()) return;
  for (const rank_table::RankPlace& place : job->second.table->ranks) {
    if (place.device < 0 || place.device >= Agent::kDevices) return;
  }
  clients_.AskForAll(name, [this, name](const core::Answer& answer) {
    if (answer.verdict != core::Verdict::kAccepted) {
      return world_.Fail("a test in a healed world is refused: " + answer.text);
    }
    world_.At(kSettleMs / 4, [this, run = answer.run] {
      for (const core::RankTest& rank : coordinator_.disk().all.runs.at(run).ranks) {
        for (const core::Op op : core::kAllOps) {
          const core::Outcome& outcome = rank.outcomes[op];
          const bool alone = outcome.detail == "p2p needs two ready devices on this node";
          if (alone || (rank.answered.Has(op) && outcome.code == core::OutcomeCode::kOk)) continue;
          world_.Fail("a test in a healed world failed: " + outcome.detail);
        }
      }
    });
  });
}

std::string Simulation::Pending() {
  if (!coordinator_.up()) return "the coordinator is down";
  std::string pending = clients_.Pending(coordinator_.disk());
  if (pending.empty()) pending = followers_.Pending();
  for (const auto& agent : agents_) {
    if (pending.empty()) pending = agent->Pending();
  }
  if (pending.empty() && coordinator_.waiting() > 0) pending = "a call has no answer";
  if (pending.empty() && links_.kept() > 0)
    pending = "the coordinator has not released a closed link";
  return pending;
}

}  // namespace assay::simulation
