// Supervisor: deadlines, worker deaths, cancel, discard, stop, restart.
#include <catch2/catch.hpp>

#include "tests/core/node/rig.h"

using namespace assay::core;
using namespace assay::core::node;

namespace {

constexpr OutcomeCode kOk = OutcomeCode::kOk;
constexpr OutcomeCode kNotRun = OutcomeCode::kNotRun;
constexpr OutcomeCode kFaulty = OutcomeCode::kFaulty;
constexpr OutcomeCode kVoltage = OutcomeCode::kVoltageNotRestored;

const std::string kSafe0 = "make safe 1/0 on 0 within 30000";

// A rig where rank 0 of run 1 runs aic, with p2p still to come.
Rig InAic() {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}}));
  return rig;
}

}  // namespace

TEST_CASE("after a deadline: grace, kill, make safe, outcome") {
  Rig rig = InAic();
  rig.Do(LinkUp{});
  CHECK(rig.Tick(300'001) == Lines{});
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 29'999);
  CHECK(rig.Tick(29'999) == Lines{"kill 1/0"});
  CHECK(rig.Done(1, 0, Op::kAic, kFaulty, "late") == Lines{});
  CHECK(rig.Tick(100'000) == Lines{});
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{kSafe0});
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{});
  CHECK(rig.Safe(1, 0) == Lines{"spool outcome 1/0/aic timeout: no answer within 300 s",
                                "spool outcome 1/0/p2p not_run: not started after aic timeout",
                                "outcome 1/0/aic timeout: no answer within 300 s",
                                "outcome 1/0/p2p not_run: not started after aic timeout"});
  CHECK(rig.Safe(1, 0, true) == Lines{});
}

TEST_CASE("a passed deadline with the voltage still changed gives code 4") {
  Rig rig = InAic();
  rig.Tick(330'000);
  rig.Gone(1, 0, "signal 9");
  CHECK(rig.Safe(1, 0, true, "0.85 V") ==
        Lines{"spool outcome 1/0/aic voltage_not_restored: the device's voltage is still changed "
              "(0.85 V): no answer within 300 s",
              "spool outcome 1/0/p2p not_run: not started after aic voltage_not_restored"});
}

TEST_CASE("answers of the worker during the grace period") {
  const auto answer = [](Ms after, OutcomeCode code, const std::string& detail) {
    Rig rig = InAic();
    rig.Tick(300'000 + after);
    return rig.Done(1, 0, Op::kAic, code, detail)[0];
  };
  CHECK(answer(0, kOk, "just") == "spool outcome 1/0/aic ok: just");
  CHECK(answer(3'200, kOk, "") ==
        "spool outcome 1/0/aic timeout: answered ok 3.2 s after its deadline of 300 s");
  CHECK(answer(3'200, kNotRun, "busy") ==
        "spool outcome 1/0/aic timeout: answered not_run 3.2 s after its deadline of 300 s: busy");
  CHECK(answer(3'200, kFaulty, "2 bad") == "spool outcome 1/0/aic faulty: 2 bad");
  CHECK(answer(3'200, kVoltage, "0.8 V") == "spool outcome 1/0/aic voltage_not_restored: 0.8 V");
}

TEST_CASE("a late answer is a timeout even if no tick came in between") {
  Rig rig = InAic();
  rig.now += 900'000;
  CHECK(rig.Done(1, 0, Op::kAic) ==
        Lines{"spool outcome 1/0/aic timeout: answered ok 600 s after its deadline of 300 s",
              "spool outcome 1/0/p2p not_run: not started after aic timeout", "quit 1/0"});
}

TEST_CASE("a worker that dies during an op gives not_run after its device is safe") {
  Rig rig = InAic();
  CHECK(rig.Gone(1, 0, "signal 11\nassert at x.cc:3") == Lines{kSafe0});
  CHECK(rig.Safe(1, 0) ==
        Lines{"spool outcome 1/0/aic not_run: worker died: signal 11 in aic: assert at x.cc:3",
              "spool outcome 1/0/p2p not_run: not started after aic crash"});
  CHECK(rig.supervisor.idle());
}

TEST_CASE("a worker that dies during an op and leaves the voltage changed gives code 4") {
  Rig rig = InAic();
  rig.Gone(1, 0, "signal 11");
  CHECK(rig.Safe(1, 0, true) ==
        Lines{"spool outcome 1/0/aic voltage_not_restored: the device's voltage is still changed: "
              "worker died: signal 11 in aic",
              "spool outcome 1/0/p2p not_run: not started after aic crash"});
}

TEST_CASE("a worker that dies during the grace period gives timeout") {
  Rig rig = InAic();
  rig.Tick(310'000);
  rig.Gone(1, 0, "exit status 1");
  CHECK(rig.Safe(1, 0)[0] ==
        "spool outcome 1/0/aic timeout: no answer within 300 s, then worker died: exit status 1");
}

TEST_CASE("a worker that dies before any op began does not need its device made safe") {
  Rig rig;
  rig.Say(TestAssign(1, {{0, 0, Both()}, {1, 1, Aic()}}));
  rig.Opened(1, 0);
  CHECK(rig.Gone(1, 0, "signal 9") ==
        Lines{"spool outcome 1/0/aic not_run: worker died: signal 9 before aic",
              "spool outcome 1/0/p2p not_run: worker died: signal 9 before aic"});
  CHECK(rig.Gone(1, 1, "could not be started: no memory") ==
        Lines{"spool outcome 1/1/aic not_run: worker did not open its device: could not be "
              "started: no memory"});
  CHECK(rig.supervisor.idle());
}

TEST_CASE("the device of a worker that dies at the barrier is made safe") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 1, Both()}}));
  rig.Done(1, 0, Op::kAic);
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{kSafe0});
  // The p2p of rank 0 is open until its device is safe, so rank 1 waits.
  CHECK(rig.Done(1, 1, Op::kAic) == Lines{"spool outcome 1/1/aic ok: "});
  CHECK(rig.Safe(1, 0, true, "0.8 V").front() ==
        "spool outcome 1/0/p2p voltage_not_restored: the device's voltage is still changed (0.8 "
        "V): worker died: signal 9 before p2p");
}

TEST_CASE("cancel before the start answers every op and quits the workers") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Say(TestAssign(1, {{0, 0, Both()}, {1, 1, Aic()}}));
  rig.Opened(1, 0);
  CHECK(rig.Say(Cancel{1}) == Lines{"spool outcome 1/0/aic not_run: cancelled",
                                    "spool outcome 1/0/p2p not_run: cancelled",
                                    "spool outcome 1/1/aic not_run: cancelled", "quit 1/0",
                                    "quit 1/1", "outcome 1/0/aic not_run: cancelled"});
  CHECK(rig.Say(Cancel{1}) == Lines{});
  CHECK(rig.Say(Start{1}) == Lines{});
  CHECK(rig.Opened(1, 1) == Lines{});
  CHECK(rig.Gone(1, 1) == Lines{"outcome 1/1/aic not_run: cancelled"});
  CHECK(rig.Tick(5'000) == Lines{"kill 1/0", "outcome 1/0/aic not_run: cancelled",
                                 "outcome 1/1/aic not_run: cancelled"});
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{"outcome 1/0/p2p not_run: cancelled"});
}

TEST_CASE("cancel waits for ops under way and starts no other") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 1, Both()}, {2, 2, Aic()}, {3, 3, Both()}}));
  rig.Done(1, 3, Op::kAic);
  CHECK(rig.Say(Cancel{1}) == Lines{"spool outcome 1/3/p2p not_run: cancelled", "quit 1/3"});
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 5'000);
  rig.Gone(1, 3);
  CHECK(rig.Tick(5'000) == Lines{});
  CHECK(rig.Done(1, 0, Op::kAic) == Lines{"spool outcome 1/0/aic ok: ",
                                          "spool outcome 1/0/p2p not_run: cancelled", "quit 1/0"});
  rig.Gone(1, 0);
  CHECK(rig.Done(1, 1, Op::kAic, kFaulty)[0] == "spool outcome 1/1/aic faulty: ");
  rig.Gone(1, 1);
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 25'000);
  CHECK(rig.Tick(25'000) == Lines{"kill 1/2"});
  CHECK(rig.Gone(1, 2, "signal 9") == Lines{"make safe 1/2 on 2 within 30000"});
  CHECK(rig.Safe(1, 2) == Lines{"spool outcome 1/2/aic not_run: cancelled"});
}

TEST_CASE("cancel with the voltage still changed gives code 4") {
  Rig rig = InAic();
  rig.Say(Cancel{1});
  rig.Tick(30'000);
  rig.Gone(1, 0, "signal 9");
  CHECK(rig.Safe(1, 0, true, "0.8 V") ==
        Lines{"spool outcome 1/0/aic voltage_not_restored: the device's voltage is still changed "
              "(0.8 V): cancelled",
              "spool outcome 1/0/p2p not_run: cancelled"});
}

TEST_CASE("a deadline that passes before the cancel gives timeout") {
  Rig rig = InAic();
  rig.Tick(310'000);
  rig.Say(Cancel{1});
  CHECK(rig.Tick(20'000) == Lines{"kill 1/0"});
  rig.Gone(1, 0, "signal 9");
  CHECK(rig.Safe(1, 0)[0] == "spool outcome 1/0/aic timeout: no answer within 300 s");
}

TEST_CASE("discard kills all workers at once and is confirmed when no device is held") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 1, P2p()}, {2, 9, Aic()}, {3, 3, Aic()}}));
  rig.Done(1, 3, Op::kAic);
  CHECK(rig.Say(Discard{1}) == Lines{"kill 1/0", "kill 1/1"});
  CHECK(rig.Say(Discard{1}) == Lines{});
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{kSafe0});
  CHECK(rig.Gone(1, 1, "signal 9") == Lines{});
  CHECK(rig.Gone(1, 3) == Lines{});
  CHECK(rig.Say(TestAssign(2, {{0, 0, Aic()}}))[1] ==
        "spool outcome 2/0/aic not_run: device 0 is held by run 1");
  CHECK(rig.Safe(1, 0) == Lines{"spool drop 1", "discarded 1"});
  CHECK(rig.supervisor.spooled().count(1) == 0);
}

TEST_CASE("a discarded run holds its devices until it is dropped") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Aic()}, {1, 1, Aic()}}));
  rig.Say(Discard{1});
  rig.Gone(1, 0, "signal 9");
  rig.Safe(1, 0);
  CHECK(rig.Say(TestAssign(2, {{0, 0, Aic()}}))[1] ==
        "spool outcome 2/0/aic not_run: device 0 is held by run 1");
}

TEST_CASE("discard of an ended or unknown run is confirmed") {
  Rig rig;
  rig.Do(LinkUp{});
  CHECK(rig.Say(Discard{1}) == Lines{"discarded 1"});
  CHECK(rig.Say(Discard{kNoRun}) == Lines{});
  rig.Say(TestAssign(2, {{0, 9, Aic()}}));
  CHECK(rig.Say(Discard{2}) == Lines{"spool drop 2", "discarded 2"});
  CHECK(rig.Say(Discard{2}) == Lines{"discarded 2"});
}

TEST_CASE("the runs that ended last are remembered, whatever their numbers") {
  constexpr RunId kRemembered = 4'096;
  Rig rig;
  rig.Do(LinkUp{});
  // From the highest to the lowest, as after a coordinator that lost its database.
  for (RunId run = kRemembered + 1; run >= 1; --run) rig.Say(Discard{run});
  CHECK(rig.Say(TestAssign(1, {{0, 9, Aic()}})) == Lines{});
  CHECK(rig.Say(TestAssign(kRemembered, {{0, 9, Aic()}})) == Lines{});
  CHECK_FALSE(rig.Say(TestAssign(kRemembered + 1, {{0, 9, Aic()}})).empty());
}

TEST_CASE("a stopping agent accepts no work and waits for ops under way") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 1, Both()}}));
  rig.Done(1, 1, Op::kAic);
  rig.Say(TestAssign(2, {{0, 2, Both()}, {1, 3, Aic()}}));
  rig.Opened(2, 0);
  CHECK(rig.Do(StopAsked{60'000}) == Lines{"spool outcome 1/1/p2p not_run: agent is stopping",
                                           "spool outcome 2/0/aic not_run: agent is stopping",
                                           "spool outcome 2/0/p2p not_run: agent is stopping",
                                           "spool outcome 2/1/aic not_run: agent is stopping",
                                           "quit 1/1", "quit 2/0", "quit 2/1"});
  CHECK(rig.Say(TestAssign(3, {{0, 4, Aic()}})) ==
        Lines{"spool run 3", "spool outcome 3/0/aic not_run: agent is stopping"});
  for (const WorkerKey& key : {WorkerKey{1, 1}, WorkerKey{2, 0}, WorkerKey{2, 1}}) {
    rig.Gone(key.run, key.rank);
  }
  rig.now += 59'000;
  CHECK(rig.Done(1, 0, Op::kAic) ==
        Lines{"spool outcome 1/0/aic ok: ", "spool outcome 1/0/p2p not_run: agent is stopping",
              "quit 1/0"});
  rig.Gone(1, 0);
  CHECK(rig.supervisor.idle());
  CHECK(rig.supervisor.owing());
}

TEST_CASE("an op ends at the earlier of the stop's grace and its own deadline") {
  Rig rig = InAic();
  rig.Do(StopAsked{60'000});
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 60'000);
  rig.Do(StopAsked{90'000});
  CHECK(rig.Tick(60'000) == Lines{"kill 1/0"});
  rig.Gone(1, 0, "signal 9");
  CHECK(rig.Safe(1, 0) == Lines{"spool outcome 1/0/aic not_run: agent stopped during the test",
                                "spool outcome 1/0/p2p not_run: agent stopped during the test"});

  Rig slow = InAic();
  slow.Do(StopAsked{900'000});
  CHECK(slow.Tick(330'000) == Lines{"kill 1/0"});
  slow.Gone(1, 0, "signal 9");
  CHECK(slow.Safe(1, 0)[0] == "spool outcome 1/0/aic timeout: no answer within 300 s");
}

TEST_CASE("a forced stop kills workers, makes devices safe and answers") {
  Rig rig = InAic();
  rig.Say(TestAssign(2, {{0, 1, Aic()}}));
  CHECK(rig.Do(StopForced{}) ==
        Lines{"spool outcome 2/0/aic not_run: agent is stopping", "kill 1/0", "quit 2/0"});
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{kSafe0});
  CHECK(rig.Safe(1, 0, true)[0] ==
        "spool outcome 1/0/aic voltage_not_restored: the device's voltage is still changed: agent "
        "stopped during the test");
}

TEST_CASE("a cancelled run ends with the stop if that is earlier") {
  Rig rig = InAic();
  rig.Say(Cancel{1});
  rig.Do(StopAsked{10'000});
  CHECK(rig.Tick(10'000) == Lines{"kill 1/0"});
}

TEST_CASE("a restart makes devices with begun ops safe and answers the other ops at once") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 9, Aic()}, {2, 2, Aic()}, {3, 3, P2p()}}));
  rig.Done(1, 2, Op::kAic, kFaulty, "x");
  rig.Say(TestAssign(2, {{0, 4, Aic()}}));
  rig.Restart();
  CHECK_FALSE(rig.supervisor.idle());
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now);
  CHECK(rig.Do(LinkUp{}) ==
        Lines{"spool outcome 1/3/p2p not_run: agent restarted during the test",
              "spool outcome 2/0/aic not_run: agent restarted before the test began", kSafe0,
              "hello n1 1 started 2",
              "outcome 1/1/aic not_run: no device 9 on this node (it has 0-7)",
              "outcome 1/2/aic faulty: x",
              "outcome 1/3/p2p not_run: agent restarted during the test",
              "outcome 2/0/aic not_run: agent restarted before the test began", "ready 2"});
  CHECK(rig.Say(TestAssign(3, {{0, 0, Aic()}}))[1] ==
        "spool outcome 3/0/aic not_run: device 0 is held by run 1");
  CHECK(rig.Safe(1, 0) == Lines{"spool outcome 1/0/aic not_run: agent restarted during the test",
                                "spool outcome 1/0/p2p not_run: agent restarted during the test",
                                "outcome 1/0/aic not_run: agent restarted during the test",
                                "outcome 1/0/p2p not_run: agent restarted during the test"});
  CHECK(rig.supervisor.idle());
}

TEST_CASE("a restart between two ops makes the device safe, also after another restart") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 1, Both()}}));
  rig.Done(1, 0, Op::kAic);
  for (int i = 0; i < 2; ++i) {
    rig.Restart();
    CHECK(rig.Tick(0) == Lines{kSafe0, "make safe 1/1 on 1 within 30000"});
  }
  CHECK(rig.Safe(1, 0, true)[0] ==
        "spool outcome 1/0/p2p voltage_not_restored: the device's voltage is still changed: agent "
        "restarted during the test");
  rig.Restart();
  CHECK(rig.Tick(0) == Lines{"make safe 1/1 on 1 within 30000"});
}

TEST_CASE("a restart after the last outcome only sends it again") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Aic()}}));
  rig.Done(1, 0, Op::kAic, kOk, "fine");
  rig.Restart();
  CHECK(rig.supervisor.owing());
  CHECK(rig.Do(LinkUp{}) == Lines{"hello n1 1 started", "outcome 1/0/aic ok: fine"});
  CHECK(rig.Ack(1, 0, Op::kAic) == Lines{"spool acked 1/0/aic", "spool drop 1"});
  rig.Restart();
  CHECK(rig.supervisor.idle());
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 3'600'000);
}

TEST_CASE("invalid times in an assignment neither overflow nor hang") {
  Assign assign = TestAssign(1, {{0, 0, Aic()}});
  assign.aic_deadline = -5;
  assign.kill_grace = -5;
  Rig rig;
  CHECK(rig.Begin(assign).back() == "kill 1/0");  // due at once
  CHECK(rig.Gone(1, 0) == Lines{"make safe 1/0 on 0 within 5000"});
  assign.run = 2;
  assign.ranks[0].device = 1;
  assign.aic_deadline = INT64_MAX;
  assign.kill_grace = INT64_MAX;
  rig.Begin(assign);
  CHECK(rig.supervisor.NextDeadline(rig.now) > rig.now + 1'000'000'000);
}
