// The agent role against a scripted coordinator, with real worker processes of the sim driver.
#include "agent/agent.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "fleet.pb.h"
#include "tests/agent/agent_rig.h"
#include "tests/agent/fake_coordinator.h"

namespace assay {
namespace {

using Heard = FakeCoordinator::Heard;

bool SaidReady(const Heard& heard, RunId run) {
  return std::count(heard.ready.begin(), heard.ready.end(), run) > 0;
}
bool Began(const Heard& heard, std::int32_t rank, Op op) {
  return std::any_of(heard.progress.begin(), heard.progress.end(), [&](const Progress& progress) {
    return progress.started && progress.rank == rank && progress.op == op;
  });
}

// Assigns, waits for Ready, starts.
void Launch(FakeCoordinator* coordinator, const Assign& assign) {
  REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.hellos.empty(); }));
  REQUIRE(coordinator->Say(CoordinatorMessage(assign)));
  REQUIRE(coordinator->Until([&](const Heard& heard) { return SaidReady(heard, assign.run); }));
  REQUIRE(coordinator->Say(CoordinatorMessage(Start{assign.run})));
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
  TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  Launch(&coordinator, Ranks(7, 4));
  MustAnswer(&coordinator, 8);

  const Heard heard = coordinator.heard();
  REQUIRE(heard.wrong.empty());
  const Hello& hello = heard.hellos[0];
  CHECK(hello.protocol == kFleetProtocol);
  CHECK(hello.node.name == "n1");
  CHECK_FALSE(hello.node.identity.empty());
  CHECK_FALSE(hello.node.version.empty());
  CHECK_FALSE(hello.node.host_name.empty());
  CHECK(hello.node.driver == "sim");
  REQUIRE(hello.node.devices.size() == 4);
  CHECK(hello.node.devices[3].index == 3);
  CHECK(hello.held.empty());
  for (std::int32_t rank = 100; rank < 104; rank++) {
    for (const Op op : kAllOps) {
      const OutcomeReport report = OutcomeOf(heard, 7, rank, op);
      CHECK(report.code == OutcomeCode::kOk);
      CHECK(report.started_ago >= 0);
      CHECK(Began(heard, rank, op));
    }
  }
  MustStop(agent.get());
}

TEST_CASE("every outcome is reported with its reason", "[agent]") {
  FakeCoordinator coordinator;
  TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.sim_devices = 8;
  options.driver.sim_plan =
      "0:aic=faulty,1:aic=crash,2:aic=hang,3:aic=hang_voltage,4:aic=not_run,5:open=fail,"
      "6:aic=garbage";
  std::unique_ptr<Agent> agent = MustStart(options);
  Assign assign = Ranks(1, 8);
  assign.aic_deadline = 1'500;
  assign.kill_grace = 200;
  assign.ranks[4].ops = OpSet(1);
  Launch(&coordinator, assign);
  MustAnswer(&coordinator, 15);

  const Heard heard = coordinator.heard();
  auto code = [&](std::int32_t rank, Op op) { return OutcomeOf(heard, 1, rank, op).code; };
  auto detail = [&](std::int32_t rank, Op op) { return OutcomeOf(heard, 1, rank, op).detail; };
  CHECK(code(100, Op::kAic) == OutcomeCode::kFaulty);
  CHECK(code(100, Op::kP2p) == OutcomeCode::kNotRun);
  CHECK(detail(100, Op::kP2p) == "not started after aic faulty");
  CHECK(code(101, Op::kAic) == OutcomeCode::kNotRun);
  CHECK(detail(101, Op::kAic).rfind("worker died: signal 11 in aic", 0) == 0);
  CHECK(code(102, Op::kAic) == OutcomeCode::kTimeout);
  CHECK(code(103, Op::kAic) == OutcomeCode::kVoltageNotRestored);
  CHECK(code(104, Op::kAic) == OutcomeCode::kNotRun);
  CHECK(code(105, Op::kAic) == OutcomeCode::kNotRun);
  CHECK(detail(105, Op::kAic).find("opening fails by plan") != std::string::npos);
  CHECK(code(106, Op::kAic) == OutcomeCode::kNotRun);
  CHECK(detail(106, Op::kAic).find("invalid message") != std::string::npos);
  CHECK(code(107, Op::kAic) == OutcomeCode::kOk);
  CHECK(detail(107, Op::kP2p) == "p2p needs two ready devices on this node");
  MustStop(agent.get());
}

TEST_CASE("a crash in p2p affects only its own rank", "[agent]") {
  FakeCoordinator coordinator;
  TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.sim_plan = "1:p2p=crash_voltage,2:safe=hang,2:p2p=crash";
  std::unique_ptr<Agent> agent = MustStart(options);
  Assign assign = Ranks(1, 4);
  assign.kill_grace = 100;
  Launch(&coordinator, assign);
  MustAnswer(&coordinator, 8);
  const Heard heard = coordinator.heard();
  const OutcomeReport changed = OutcomeOf(heard, 1, 101, Op::kP2p);
  CHECK(changed.code == OutcomeCode::kVoltageNotRestored);
  CHECK(changed.detail.find("worker died: signal 11 in p2p") != std::string::npos);
  const OutcomeReport unknown = OutcomeOf(heard, 1, 102, Op::kP2p);
  CHECK(unknown.code == OutcomeCode::kVoltageNotRestored);
  CHECK(unknown.detail.find("did not answer in time") != std::string::npos);
  CHECK(OutcomeOf(heard, 1, 100, Op::kP2p).code == OutcomeCode::kOk);
  CHECK(OutcomeOf(heard, 1, 103, Op::kP2p).code == OutcomeCode::kOk);
  MustStop(agent.get());
}

TEST_CASE("an agent that died during a test reports its outcomes after the restart", "[agent]") {
  FakeCoordinator coordinator;
  TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.sim_plan = "0:aic=hang";
  std::unique_ptr<Agent> agent = MustStart(options);
  Launch(&coordinator, Ranks(5, 2));
  REQUIRE(coordinator.Until([](const Heard& heard) { return Began(heard, 100, Op::kAic); }));
  REQUIRE(coordinator.Say(CoordinatorMessage(Ranks(6, 4))));
  REQUIRE(coordinator.Until([](const Heard& heard) { return SaidReady(heard, 6); }));
  REQUIRE(coordinator.Until([](const Heard& heard) {
    return heard.outcomes.count({5, 101, Op::kAic}) == 1;
  }));
  agent.reset();

  agent = MustStart(options);
  MustAnswer(&coordinator, 12);
  const Heard heard = coordinator.heard();
  const Hello& back = heard.hellos.back();
  CHECK(heard.hellos[0].node.identity == back.node.identity);
  REQUIRE(back.held.size() == 2);
  CHECK(back.held[0] == HeldRun{5, true});
  CHECK(back.held[1] == HeldRun{6, false});
  CHECK(OutcomeOf(heard, 5, 101, Op::kAic).code == OutcomeCode::kOk);
  CHECK(OutcomeOf(heard, 5, 100, Op::kAic).detail == "agent restarted during the test");
  CHECK(OutcomeOf(heard, 5, 100, Op::kAic).code == OutcomeCode::kNotRun);
  CHECK(OutcomeOf(heard, 6, 102, Op::kAic).detail == "agent restarted before the test began");
  CHECK(OutcomeOf(heard, 6, 102, Op::kAic).started_ago == -1);
  // Device 0 was held by run 5.
  CHECK(OutcomeOf(heard, 6, 100, Op::kAic).detail.find("held by run 5") != std::string::npos);
  MustStop(agent.get());
}

TEST_CASE("outcomes are retained until a coordinator acknowledges them", "[agent]") {
  auto first = std::make_unique<FakeCoordinator>();
  first->AckOutcomes(false);
  const int port = first->port();
  TempDir folder;
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
  CHECK(after.hellos[0].held[0] == HeldRun{3, true});
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
  TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.hellos.empty(); }));
  coordinator.AckOutcomes(false);
  for (int i = 0; i < 3; i++) REQUIRE(coordinator.Say(CoordinatorMessage(Ranks(9, 2))));
  REQUIRE(coordinator.Until([](const Heard& heard) { return SaidReady(heard, 9); }));
  for (int i = 0; i < 3; i++) REQUIRE(coordinator.Say(CoordinatorMessage(Start{9})));
  MustAnswer(&coordinator, 4);
  REQUIRE(coordinator.Say(CoordinatorMessage(Start{9})));
  REQUIRE(coordinator.Say(CoordinatorMessage(Ranks(9, 2))));
  // After a repeated assignment the supervisor sends the same outcomes again.
  REQUIRE(coordinator.Until([](const Heard& heard) {
    return heard.outcomes.at({9, 100, Op::kAic}).size() >= 2;
  }));
  const Heard heard = coordinator.heard();
  int began = 0;
  for (const Progress& progress : heard.progress) began += progress.started ? 1 : 0;
  CHECK(began == 4);
  for (const auto& [key, reports] : heard.outcomes) {
    CHECK(OutcomeOf(heard, key.run, key.rank, key.op).code == OutcomeCode::kOk);
  }
  MustStop(agent.get());
}

TEST_CASE("a run is cancelled and discarded", "[agent]") {
  FakeCoordinator coordinator;
  TempDir folder;
  AgentOptions options = SimAgent(coordinator.address(), folder);
  options.driver.sim_plan = "0:aic=hang,1:aic=hang";
  std::unique_ptr<Agent> agent = MustStart(options);
  Assign assign = Ranks(1, 2);
  assign.kill_grace = 50;
  Launch(&coordinator, assign);
  REQUIRE(coordinator.Until([](const Heard& heard) { return Began(heard, 101, Op::kAic); }));
  REQUIRE(coordinator.Say(CoordinatorMessage(Cancel{1})));
  MustAnswer(&coordinator, 4);
  CHECK(OutcomeOf(coordinator.heard(), 1, 100, Op::kAic).detail == "cancelled");

  assign.run = 2;
  REQUIRE(coordinator.Say(CoordinatorMessage(assign)));
  REQUIRE(coordinator.Until([](const Heard& heard) { return SaidReady(heard, 2); }));
  REQUIRE(coordinator.Say(CoordinatorMessage(Discard{2})));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.discarded.empty(); }));
  CHECK(coordinator.heard().discarded[0] == 2);
  CHECK(coordinator.heard().outcomes.size() == 4);
  MustStop(agent.get());
}

}  // namespace
}  // namespace assay
