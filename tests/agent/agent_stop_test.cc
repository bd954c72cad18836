// Stopping an agent, a disk that does not accept records, and failures to start.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/agent.h"
#include "tests/agent/agent_rig.h"
#include "tests/agent/fake_coordinator.h"

namespace assay::agent {
namespace {

using Heard = FakeCoordinator::Heard;

void Launch(FakeCoordinator* coordinator, const core::Assign& assign) {
  REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.hellos.empty(); }));
  REQUIRE(coordinator->Say(core::CoordinatorMessage(assign)));
  REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.ready.empty(); }));
  REQUIRE(coordinator->Say(core::CoordinatorMessage(core::Start{assign.run})));
  REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.progress.empty(); }));
}

std::string Refusal(AgentOptions options) {
  base::Result<std::unique_ptr<Agent>> agent = Agent::Start(std::move(options));
  return agent.ok() ? "started" : agent.status().text();
}

TEST_CASE("an idle agent stops on request, attached or not", "[stop]") {
  support::TempDir folder;
  auto coordinator = std::make_unique<FakeCoordinator>();
  const std::string address = coordinator->address();
  {
    std::unique_ptr<Agent> agent = MustStart(SimAgent(address, folder));
    REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.hellos.empty(); }));
    agent->RequestStop();
    REQUIRE(agent->Wait(kTestWaitMs));
    REQUIRE(coordinator->Until([](const Heard& heard) { return heard.open_streams == 0; }));
    agent->RequestStop();  // repeated requests have no effect
    agent->ForceStop();
    REQUIRE(agent->Wait(0));
  }
  coordinator.reset();
  std::unique_ptr<Agent> agent = MustStart(SimAgent(address, folder));
  agent->RequestStop();
  REQUIRE(agent->Wait(kTestWaitMs));
}

TEST_CASE("RequestStop refuses new work and waits for the running ops", "[stop]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim-op-ms", 1'000);
  std::unique_ptr<Agent> agent = MustStart(options);
  Launch(&coordinator, Ranks(1, 2));
  agent->RequestStop();
  CHECK_FALSE(agent->Wait(100));
  core::Assign late = Ranks(2, 4);
  late.ranks.erase(late.ranks.begin(), late.ranks.begin() + 2);
  REQUIRE(coordinator.Say(core::CoordinatorMessage(late)));
  REQUIRE(agent->Wait(kTestWaitMs));
  const Heard heard = coordinator.heard();
  for (std::int32_t rank : {100, 101}) {
    CHECK(OutcomeOf(heard, 1, rank, core::Op::kAic).code == core::OutcomeCode::kOk);
    CHECK(OutcomeOf(heard, 1, rank, core::Op::kP2p).detail == "agent is stopping");
    CHECK(OutcomeOf(heard, 2, rank + 2, core::Op::kAic).detail == "agent is stopping");
  }
}

TEST_CASE("ForceStop ends the running ops and makes the devices safe", "[stop]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim", "0:aic=hang,1:aic=hang_voltage");
  std::unique_ptr<Agent> agent = MustStart(options);
  Launch(&coordinator, Ranks(1, 2));
  agent->RequestStop();
  agent->ForceStop();
  REQUIRE(agent->Wait(kTestWaitMs));
  const Heard heard = coordinator.heard();
  CHECK(OutcomeOf(heard, 1, 100, core::Op::kAic).code == core::OutcomeCode::kNotRun);
  CHECK(OutcomeOf(heard, 1, 100, core::Op::kAic).detail == "agent stopped during the test");
  CHECK(OutcomeOf(heard, 1, 101, core::Op::kAic).code == core::OutcomeCode::kVoltageNotRestored);

  // All outcomes were acknowledged, so the next agent holds no run.
  agent.reset();
  agent = MustStart(options);
  REQUIRE(coordinator.Until([](const Heard& now) { return now.hellos.size() == 2; }));
  CHECK(coordinator.heard().hellos[1].held.empty());
}

TEST_CASE("the next agent reports the unacknowledged outcomes of a stopped one", "[stop]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim", "0:aic=hang,1:aic=hang");
  std::unique_ptr<Agent> agent = MustStart(options);
  coordinator.AckOutcomes(false);
  Launch(&coordinator, Ranks(1, 2));
  agent->ForceStop();
  REQUIRE(agent->Wait(kTestWaitMs));
  agent.reset();
  coordinator.AckOutcomes(true);
  agent = MustStart(options);
  REQUIRE(coordinator.Until([](const Heard& heard) {
    const auto said = heard.outcomes.find({1, 101, core::Op::kAic});
    return heard.hellos.size() == 2 && said != heard.outcomes.end() && said->second.size() >= 2;
  }));
  CHECK(OutcomeOf(coordinator.heard(), 1, 101, core::Op::kAic).detail ==
        "agent stopped during the test");
}

TEST_CASE("a second agent on the same state folder is refused", "[stop]") {
  support::TempDir folder;
  AgentOptions options = SimAgent("127.0.0.1:1", folder);
  std::unique_ptr<Agent> first = MustStart(options);
  const std::string refusal = Refusal(options);
  CHECK(refusal.find("in use by another agent (process " + std::to_string(getpid()) + ")") !=
        std::string::npos);
  CHECK(refusal.find(options.state_dir) != std::string::npos);
  first.reset();
  first = MustStart(options);
}

TEST_CASE("an agent that cannot start names the reason", "[stop]") {
  support::TempDir folder;
  const AgentOptions good = SimAgent("127.0.0.1:1", folder);
  auto with = [&](auto change) {
    AgentOptions options = good;
    change(&options);
    return Refusal(options);
  };
  auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    return text.size() < 1024 && text.find(part) != std::string::npos;
  };
  CHECK(has(with([](AgentOptions* o) { o->coordinator = "http://head:8899"; }), "--coordinator"));
  CHECK(has(with([](AgentOptions* o) { o->state_dir = ""; }), "--state-dir"));
  CHECK(has(with([](AgentOptions* o) { o->state_dir = "/dev/null/state"; }), "/dev/null/state"));
  CHECK(has(with([](AgentOptions* o) { o->node = "a\nb"; }), "node"));
  CHECK(has(with([](AgentOptions* o) { o->node = std::string(10'000, 'x'); }), "node"));
  CHECK(has(with([](AgentOptions* o) { o->driver.kind = "gpu"; }), "gpu"));
  CHECK(has(with([](AgentOptions* o) { o->driver.Set("sim", "9:aic=nonsense"); }), "nonsense"));
  CHECK(has(with([](AgentOptions* o) { o->program = "/nowhere/assay"; }), "/nowhere/assay"));
  CHECK(has(with([](AgentOptions* o) { o->program = "/bin/true"; }), "exit status 0"));
  std::ofstream(folder / "file") << "not a folder";
  CHECK(has(with([&](AgentOptions* o) { o->state_dir = folder / "file"; }), "file"));
  // The failed attempts leave the folder usable.
  std::unique_ptr<Agent> agent = MustStart(good);
}

// Holds the spool's write lock, so that commits fail as on a disk that accepts no writes.
class Blocker {
 public:
  explicit Blocker(const std::string& file) {
    REQUIRE(sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
    sqlite3_busy_timeout(database_, kTestWaitMs);
    REQUIRE(sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~Blocker() { Release(); }
  void Release() {
    if (database_ == nullptr) return;
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_close(database_);
    database_ = nullptr;
  }

 private:
  sqlite3* database_ = nullptr;
};

TEST_CASE("the agent starts and reports nothing while commits fail", "[stop]") {
  FakeCoordinator coordinator;
  coordinator.Heartbeat(200);
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.commit_timeout = 600'000;
  std::unique_ptr<Agent> agent = MustStart(options);
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.heartbeats > 0; }));
  Blocker blocker(options.state_dir + "/agent.db");
  REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(1, 2))));
  // Heartbeats continue.
  const int beats = coordinator.heard().heartbeats;
  REQUIRE(coordinator.Until([&](const Heard& heard) { return heard.heartbeats > beats + 1; }));
  CHECK(coordinator.heard().ready.empty());
  blocker.Release();
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.ready.empty(); }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Start{1})));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.outcomes.size() == 4; }));
}

TEST_CASE("commits that keep failing end the running ops as a restart would", "[stop]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim", "0:aic=hang");
  options.commit_timeout = 1;
  std::unique_ptr<Agent> agent = MustStart(options);
  Launch(&coordinator, Ranks(1, 2));
  {
    Blocker blocker(options.state_dir + "/agent.db");
    REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(2, 4))));
    // The agent reports why it cannot store run 2, drops the stream and reconnects without having
    // stored anything.
    REQUIRE(coordinator.Until([](const Heard& heard) {
      return heard.streams >= 2 && heard.outcomes.count({2, 103, core::Op::kP2p}) == 1;
    }));
  }
  REQUIRE(coordinator.Until([](const Heard& heard) {
    return heard.hellos.size() >= 2 && heard.outcomes.count({1, 100, core::Op::kP2p}) == 1;
  }));
  const Heard heard = coordinator.heard();
  REQUIRE(heard.hellos.back().held.size() == 1);
  CHECK(heard.hellos.back().held[0].run == 1);
  CHECK(OutcomeOf(heard, 1, 100, core::Op::kAic).detail == "agent restarted during the test");
  for (int rank = 100; rank < 104; ++rank) {
    for (const core::Op op : core::kAllOps) {
      const core::OutcomeReport refused = OutcomeOf(heard, 2, rank, op);
      CHECK(refused.code == core::OutcomeCode::kNotRun);
      CHECK(refused.detail.find("the agent's state cannot be stored: ") == 0);
      CHECK(refused.detail.find("agent.db") != std::string::npos);
    }
  }
  agent->RequestStop();
  REQUIRE(agent->Wait(kTestWaitMs));
}

TEST_CASE("an agent stops even while commits fail", "[stop]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.commit_timeout = 600'000;
  std::unique_ptr<Agent> agent = MustStart(options);
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.hellos.empty(); }));
  Blocker blocker(options.state_dir + "/agent.db");
  REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(1, 2))));
  agent->RequestStop();
  REQUIRE(agent->Wait(kTestWaitMs));
}

}  // namespace
}  // namespace assay::agent
