// The agent role against a scripted coordinator, with real worker processes of the sim driver.
#include "agent/agent.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "fleet.pb.h"
#include "tests/agent/agent_rig.h"
#include "tests/agent/fake_coordinator.h"

namespace assay::agent {
namespace {

using Heard = FakeCoordinator::Heard;

bool SaidReady(const Heard& heard, core::RunId run) {
  return std::count(heard.ready.begin(), heard.ready.end(), run) > 0;
}
bool Began(const Heard& heard, std::int32_t rank, core::Op op) {
  return std::any_of(heard.progress.begin(), heard.progress.end(),
                     [&](const core::Progress& progress) {
                       return progress.started && progress.rank == rank && progress.op == op;
                     });
}

// Assigns, waits for Ready, starts.
void Launch(FakeCoordinator* coordinator, const core::Assign& assign) {
  REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.hellos.empty(); }));
  REQUIRE(coordinator->Say(core::CoordinatorMessage(assign)));
  REQUIRE(coordinator->Until([&](const Heard& heard) { return SaidReady(heard, assign.run); }));
  REQUIRE(coordinator->Say(core::CoordinatorMessage(core::Start{assign.run})));
}

void MustAnswer(FakeCoordinator* coordinator, std::size_t outcomes) {
  const bool all = coordinator->Until(
      [outcomes](const Heard& heard) { return heard.outcomes.size() >= outcomes; });
  INFO(coordinator->heard().outcomes.size() << " of " << outcomes << " outcomes");
  REQUIRE(all);
}

void MustStop(Agent* agent) {
  agent->RequestStop();
  REQUIRE(agent->Wait(kTestWaitMs));
}

TEST_CASE("four ranks go through aic and p2p", "[agent]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  Launch(&coordinator, Ranks(7, 4));
  MustAnswer(&coordinator, 8);

  const Heard heard = coordinator.heard();
  REQUIRE(heard.wrong.empty());
  const core::Hello& hello = heard.hellos[0];
  CHECK(hello.protocol == core::kFleetProtocol);
  CHECK(hello.node.name == "n1");
  CHECK_FALSE(hello.node.identity.empty());
  CHECK_FALSE(hello.node.version.empty());
  CHECK_FALSE(hello.node.host_name.empty());
  CHECK(hello.node.driver == "sim");
  REQUIRE(hello.node.devices.size() == 4);
  CHECK(hello.node.devices[3].index == 3);
  CHECK(hello.held.empty());
  for (std::int32_t rank = 100; rank < 104; rank++) {
    for (const core::Op op : core::kAllOps) {
      const core::OutcomeReport report = OutcomeOf(heard, 7, rank, op);
      CHECK(report.code == core::OutcomeCode::kOk);
      CHECK(report.started_ago >= 0);
      CHECK(Began(heard, rank, op));
    }
  }
  MustStop(agent.get());
}

TEST_CASE("every outcome is reported with its reason", "[agent]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim-devices", 8);
  options.driver.Set(
      "sim",
      "0:aic=faulty,1:aic=crash,2:aic=hang,3:aic=hang_voltage,4:aic=not_run,5:open=fail,"
      "6:aic=garbage");
  std::unique_ptr<Agent> agent = MustStart(options);
  core::Assign assign = Ranks(1, 8);
  assign.aic_deadline = 1'500;
  assign.kill_grace = 200;
  assign.ranks[4].ops = core::OpSet(1);
  Launch(&coordinator, assign);
  MustAnswer(&coordinator, 15);

  const Heard heard = coordinator.heard();
  auto code = [&](std::int32_t rank, core::Op op) { return OutcomeOf(heard, 1, rank, op).code; };
  auto detail = [&](std::int32_t rank, core::Op op) {
    return OutcomeOf(heard, 1, rank, op).detail;
  };
  CHECK(code(100, core::Op::kAic) == core::OutcomeCode::kFaulty);
  CHECK(code(100, core::Op::kP2p) == core::OutcomeCode::kNotRun);
  CHECK(detail(100, core::Op::kP2p) == "not started after aic faulty");
  CHECK(code(101, core::Op::kAic) == core::OutcomeCode::kNotRun);
  CHECK(detail(101, core::Op::kAic).rfind("worker died: signal 11 in aic", 0) == 0);
  CHECK(code(102, core::Op::kAic) == core::OutcomeCode::kTimeout);
  CHECK(code(103, core::Op::kAic) == core::OutcomeCode::kVoltageNotRestored);
  CHECK(code(104, core::Op::kAic) == core::OutcomeCode::kNotRun);
  CHECK(code(105, core::Op::kAic) == core::OutcomeCode::kNotRun);
  CHECK(detail(105, core::Op::kAic).find("opening fails by plan") != std::string::npos);
  CHECK(code(106, core::Op::kAic) == core::OutcomeCode::kNotRun);
  CHECK(detail(106, core::Op::kAic).find("invalid message") != std::string::npos);
  CHECK(code(107, core::Op::kAic) == core::OutcomeCode::kOk);
  CHECK(detail(107, core::Op::kP2p) == "p2p needs two ready devices on this node");
  MustStop(agent.get());
}

TEST_CASE("a crash in p2p affects only its own rank", "[agent]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim", "1:p2p=crash_voltage,2:safe=hang,2:p2p=crash");
  std::unique_ptr<Agent> agent = MustStart(options);
  core::Assign assign = Ranks(1, 4);
  assign.kill_grace = 100;
  Launch(&coordinator, assign);
  MustAnswer(&coordinator, 8);
  const Heard heard = coordinator.heard();
  const core::OutcomeReport changed = OutcomeOf(heard, 1, 101, core::Op::kP2p);
  CHECK(changed.code == core::OutcomeCode::kVoltageNotRestored);
  CHECK(changed.detail.find("worker died: signal 11 in p2p") != std::string::npos);
  const core::OutcomeReport unknown = OutcomeOf(heard, 1, 102, core::Op::kP2p);
  CHECK(unknown.code == core::OutcomeCode::kVoltageNotRestored);
  CHECK(unknown.detail.find("did not answer in time") != std::string::npos);
  CHECK(OutcomeOf(heard, 1, 100, core::Op::kP2p).code == core::OutcomeCode::kOk);
  CHECK(OutcomeOf(heard, 1, 103, core::Op::kP2p).code == core::OutcomeCode::kOk);
  MustStop(agent.get());
}

TEST_CASE("an agent that died during a test reports its outcomes after the restart", "[agent]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim", "0:aic=hang");
  std::unique_ptr<Agent> agent = MustStart(options);
  Launch(&coordinator, Ranks(5, 2));
  REQUIRE(coordinator.Until([](const Heard& heard) { return Began(heard, 100, core::Op::kAic); }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(6, 4))));
  REQUIRE(coordinator.Until([](const Heard& heard) { return SaidReady(heard, 6); }));
  REQUIRE(coordinator.Until([](const Heard& heard) {
    return heard.outcomes.count({5, 101, core::Op::kAic}) == 1;
  }));
  agent.reset();

  agent = MustStart(options);
  MustAnswer(&coordinator, 12);
  const Heard heard = coordinator.heard();
  const core::Hello& back = heard.hellos.back();
  CHECK(heard.hellos[0].node.identity == back.node.identity);
  REQUIRE(back.held.size() == 2);
  CHECK(back.held[0] == core::HeldRun{5, true});
  CHECK(back.held[1] == core::HeldRun{6, false});
  CHECK(OutcomeOf(heard, 5, 101, core::Op::kAic).code == core::OutcomeCode::kOk);
  CHECK(OutcomeOf(heard, 5, 100, core::Op::kAic).detail == "agent restarted during the test");
  CHECK(OutcomeOf(heard, 5, 100, core::Op::kAic).code == core::OutcomeCode::kNotRun);
  CHECK(OutcomeOf(heard, 6, 102, core::Op::kAic).detail == "agent restarted before the test began");
  CHECK(OutcomeOf(heard, 6, 102, core::Op::kAic).started_ago == -1);
  // Device 0 was held by run 5.
  CHECK(OutcomeOf(heard, 6, 100, core::Op::kAic).detail.find("held by run 5") != std::string::npos);
  MustStop(agent.get());
}

TEST_CASE("outcomes are retained until a coordinator acknowledges them", "[agent]") {
  auto first = std::make_unique<FakeCoordinator>();
  first->AckOutcomes(false);
  const int port = first->port();
  support::TempDir folder;
  AgentOptions options = SimAgent(first->address(), folder);
  std::unique_ptr<Agent> agent = MustStart(options);
  Launch(first.get(), Ranks(3, 2));
  MustAnswer(first.get(), 4);
  const Heard before = first->heard();
  first.reset();

  FakeCoordinator second(port);
  MustAnswer(&second, 4);
  const Heard after = second.heard();
  CHECK(after.order[0] == "hello");
  REQUIRE(after.hellos[0].held.size() == 1);
  CHECK(after.hellos[0].held[0] == core::HeldRun{3, true});
  for (const auto& [key, reports] : before.outcomes) {
    CHECK(OutcomeOf(after, key.run, key.rank, key.op).detail == reports[0].detail);
  }

  // All outcomes are acknowledged, so the agent holds no run.
  second.EndStreams();
  REQUIRE(second.Until([](const Heard& heard) { return heard.hellos.size() >= 2; }));
  CHECK(second.heard().hellos.back().held.empty());
  MustStop(agent.get());
}

TEST_CASE("repeated messages take effect once", "[agent]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.hellos.empty(); }));
  coordinator.AckOutcomes(false);
  for (int i = 0; i < 3; i++) REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(9, 2))));
  REQUIRE(coordinator.Until([](const Heard& heard) { return SaidReady(heard, 9); }));
  for (int i = 0; i < 3; i++) REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Start{9})));
  MustAnswer(&coordinator, 4);
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Start{9})));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(9, 2))));
  // After a repeated assignment the supervisor sends the same outcomes again.
  REQUIRE(coordinator.Until([](const Heard& heard) {
    return heard.outcomes.at({9, 100, core::Op::kAic}).size() >= 2;
  }));
  const Heard heard = coordinator.heard();
  int began = 0;
  for (const core::Progress& progress : heard.progress) began += progress.started ? 1 : 0;
  CHECK(began == 4);
  for (const auto& [key, reports] : heard.outcomes) {
    CHECK(OutcomeOf(heard, key.run, key.rank, key.op).code == core::OutcomeCode::kOk);
  }
  MustStop(agent.get());
}

TEST_CASE("a run is cancelled and discarded", "[agent]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.Set("sim", "0:aic=hang,1:aic=hang");
  std::unique_ptr<Agent> agent = MustStart(options);
  core::Assign assign = Ranks(1, 2);
  assign.kill_grace = 50;
  Launch(&coordinator, assign);
  REQUIRE(coordinator.Until([](const Heard& heard) { return Began(heard, 101, core::Op::kAic); }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Cancel{1})));
  MustAnswer(&coordinator, 4);
  CHECK(OutcomeOf(coordinator.heard(), 1, 100, core::Op::kAic).detail == "cancelled");

  assign.run = 2;
  REQUIRE(coordinator.Say(core::CoordinatorMessage(assign)));
  REQUIRE(coordinator.Until([](const Heard& heard) { return SaidReady(heard, 2); }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Discard{2})));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.discarded.empty(); }));
  CHECK(coordinator.heard().discarded[0] == 2);
  CHECK(coordinator.heard().outcomes.size() == 4);
  MustStop(agent.get());
}

}  // namespace
}  // namespace assay::agent
