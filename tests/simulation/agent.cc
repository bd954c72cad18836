#include "tests/simulation/agent.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "tests/simulation/trace.h"

namespace assay::simulation {
namespace {

constexpr int kTurnsAtOnce = 1'000;

}  // namespace

Agent::Agent(World* world, Checker* checker, int index)
    : world_(*world), checker_(*checker), index_(index), workers_(world, checker, index) {
  SetLogLevel(base::LogLevel::kOff);  // the trace tells more
  self_.name = NameOf(index);
  self_.identity = self_.name + "-1";
  self_.version = "1";
  self_.host_name = "host-" + self_.name;
  self_.fqdn = self_.host_name + ".example";
  self_.addresses = {"127.0.0.1", "10.0.0." + std::to_string(index + 1)};
  self_.driver = "sim";
  for (std::int32_t i = 0; i < kDevices; ++i) self_.devices.push_back({i, "sim", ""});
  workers_.changed = [this] { Wake(); };
  workers_.allowed = [this](const core::node::NodeEffect& effect) { return Allowed(effect); };
}

void Agent::Start() {
  if (turn_) return;
  world_.Trace(self_.name.c_str(), [&] { return "starts as " + self_.identity; });
  ++life_;
  clock_ = world_.Below(10'000'000) - 500'000;
  turn_at_.reset();
  link_events_.clear();
  unread_.clear();
  can_read_ = true;
  closing_ = false;
  dying_ = false;
  const core::Ms commit_timeouts[] = {500, 10'000, 60'000};
  agent::LinkPort* const link = this;
  agent::SpoolPort* const spool = this;
  turn_.emplace(commit_timeouts[world_.Below(3)], self_, spool_, link, &workers_, spool);
  TurnAt(world_.now());
  ConnectLater();
}

void Agent::Die() {
  if (!turn_) return;
  world_.Trace(self_.name.c_str(), [] { return std::string("dies"); });
  turn_.reset();
  ++life_;
  workers_.AgentDied();
  link_.reset();
  checker_.AgentDied(index_);
  disconnect();
  if (world_.Chance(world_.faults.identity_lost) && !world_.healed) {
    spool_.clear();
    self_.identity = self_.name + "-" + std::to_string(world_.NextId());
  }
  world_.At(world_.Delay(world_.healed ? 1'000 : 60'000), [this] { Start(); });
}

void Agent::Stop(core::Ms grace) {
  if (!turn_) return;
  world_.Trace(self_.name.c_str(), [] { return std::string("is asked to stop"); });
  turn_->RequestStop(grace);
  Wake();
  world_.At(world_.Delay(60'000), [this, life = life_] {
    if (life != life_ || !turn_) return;
    world_.Trace(self_.name.c_str(), [] { return std::string("is forced to stop"); });
    turn_->ForceStop();
    Wake();
  });
}

std::string Agent::Pending() const {
  if (!turn_) return "agent " + self_.name + " is down";
  if (!link_) return "agent " + self_.name + " has no link";
  if (!turn_->serving()) return "agent " + self_.name + " cannot store its state";
  if (!turn_->supervisor().idle()) return "agent " + self_.name + " is not idle";
  if (turn_->supervisor().owing()) {
    return "agent " + self_.name + " has an unacknowledged outcome";
  }
  if (!spool_.empty()) return "agent " + self_.name + " has a run in its spool";
  return "";
}

// --- Turns ---------------------------------------------------------------------------------------

// A turn follows soon; sometimes later, so that it takes several events as one batch.
void Agent::Wake() {
  if (turn_) TurnAt(world_.now() + (world_.Chance(300) ? world_.Delay(100) : 0));
}

void Agent::TurnAt(core::Ms at) {
  if (turn_at_ && *turn_at_ <= at) return;
  turn_at_ = at;
  world_.At(at - world_.now(), [this, at, life = life_] {
    if (life != life_ || !turn_ || turn_at_ != at) return;
    turn_at_.reset();
    TakeTurn();
  });
}

void Agent::TakeTurn() {
  turns_at_once_ = last_turn_ == world_.now() ? turns_at_once_ + 1 : 0;
  last_turn_ = world_.now();
  if (turns_at_once_ > kTurnsAtOnce) return world_.Fail("an agent's turn never waits");

  std::vector<core::node::NodeEvent> events = std::exchange(link_events_, {});
  if (can_read_ && !unread_.empty()) {
    events.emplace_back(core::node::CoordinatorSaid{std::move(unread_.front())});
    unread_.pop_front();
    can_read_ = false;
  }
  for (const core::node::NodeEvent& event : events) {
    world_.Trace(self_.name.c_str(), [&] { return Text(event); });
  }
  if (turn_->Step(std::move(events), Now())) ++world_.steps;
  if (dying_ || Fails(world_.faults.agent_dies)) return Die();
  if (turn_->serving()) {
    world_.Require(spool_ == turn_->supervisor().spooled(),
                   "an agent's spool differs from its supervisor's state");
  }
  turn_->Release(Now());
  if (dying_ || turn_->finished()) return Die();
  TurnAt(world_.now() + turn_->NextDeadline(Now()) - Now());
  if (can_read_ && !unread_.empty()) Wake();
}

// The process may die before each effect.
bool Agent::Allowed(const core::node::NodeEffect& effect) {
  if (!dying_ && Fails(world_.faults.agent_dies)) dying_ = true;
  if (dying_) return false;
  world_.Trace(self_.name.c_str(), [&] { return "-> " + Text(effect); });
  return true;
}

// --- The link ------------------------------------------------------------------------------------

void Agent::Hear(core::LinkId link, core::CoordinatorMessage message) {
  if (!turn_ || link_ != link) return;
  unread_.push_back(std::move(message));
  Wake();
}

void Agent::Lost(core::LinkId link) {
  if (!turn_ || link_ != link) return;
  link_.reset();
  unread_.clear();
  link_events_.emplace_back(core::node::LinkDown{});
  ConnectLater();
  Wake();
}

void Agent::ConnectLater() {
  world_.At(world_.Delay(5'000), [this, life = life_] {
    if (life != life_ || !turn_ || link_ || closing_) return;
    link_ = connect();
    if (!link_) return ConnectLater();
    can_read_ = true;
    link_events_.emplace_back(core::node::LinkUp{});
    Wake();
  });
}

void Agent::Send(const core::AgentMessage& said, core::Ms) {
  if (!link_ || !Allowed(core::node::SendToCoordinator{said})) return;
  core::AgentMessage message = said;
  if (auto* outcomes = std::get_if<core::Outcomes>(&message)) {
    for (core::OutcomeReport& report : outcomes->reports) {
      // While commits fail, it may only refuse what it could not store.
      if (!turn_->serving()) {
        checker_.Refused({report.run, report.rank, report.op}, report.detail);
        world_.Require(spool_.count(report.run) == 0, "an agent refuses a run that it has stored");
      }
      if (world_.canary == Canary::kForgeOutcome) report.code = core::OutcomeCode::kFaulty;
    }
  }
  say(*link_, std::move(message));
}

void Agent::Drop(const std::string&, std::vector<core::node::NodeEvent>* out) {
  if (!link_) return;
  link_.reset();
  unread_.clear();
  disconnect();
  out->emplace_back(core::node::LinkDown{});
  ConnectLater();
}

void Agent::Close(core::Ms) {
  closing_ = true;
  if (!std::exchange(link_, std::nullopt)) return;
  unread_.clear();
  disconnect();
}

// --- The spool -----------------------------------------------------------------------------------

base::Status Agent::CheckDisk() {
  if (!dying_ && Fails(world_.faults.agent_dies)) dying_ = true;
  if (dying_) return base::UnavailableError("the process has died");
  if (world_.now() >= disk_fails_until_ && Fails(world_.faults.spool_fails)) {
    disk_fails_until_ = world_.now() + 1 + world_.Below(20'000);
  }
  if (world_.now() >= disk_fails_until_) return base::Status::Ok();
  world_.Trace(self_.name.c_str(), [] { return std::string("the spool fails"); });
  return base::UnavailableError("the disk is full");
}

base::Status Agent::Commit(const std::vector<core::node::SpoolRecord>& records) {
  base::Status status = CheckDisk();
  if (!status.ok()) return status;
  for (const core::node::SpoolRecord& record : records) {
    checker_.Spooled(index_, record);
    if (world_.canary == Canary::kSpoolForgets &&
        std::holds_alternative<core::node::SpoolBegun>(record)) {
      continue;
    }
    core::node::Apply(record, &spool_);
  }
  return status;
}

base::Result<core::node::Spooled> Agent::Load() {
  base::Status status = CheckDisk();
  if (!status.ok()) return status;
  return spool_;
}

}  // namespace assay::simulation
