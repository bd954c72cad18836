// Supervisor: the barrier before p2p and its group.
#include <catch2/catch.hpp>

#include "tests/core/node/rig.h"

using namespace assay::core;
using namespace assay::core::node;

namespace {

constexpr OutcomeCode kNotRun = OutcomeCode::kNotRun;
const std::string kTooFew = "p2p needs two ready devices on this node";

Lines Prepared(Rig* rig, std::int32_t rank, std::string blob, std::string error = "") {
  return rig->Do(WorkerP2pPrepared{{1, rank}, std::move(blob), std::move(error)});
}

// Ranks 0 to count - 1, each on the device of the same number.
Assign P2pOf(std::int32_t count) {
  std::vector<AssignedRank> ranks;
  for (std::int32_t i = 0; i < count; ++i) ranks.push_back({i, i, P2p()});
  return TestAssign(1, std::move(ranks));
}

}  // namespace

TEST_CASE("p2p alone begins with the start") {
  Rig rig;
  CHECK(rig.Begin(P2pOf(2)) == Lines{"spool started 1", "spool begun 1/0/p2p",
                                     "spool begun 1/1/p2p", "prepare p2p 1/0 place 0 of 0@0 1@1",
                                     "prepare p2p 1/1 place 1 of 0@0 1@1"});
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 630'000);
}

TEST_CASE("p2p waits only for ranks that open their device or run aic") {
  Rig rig;
  rig.Say(TestAssign(1, {{0, 0, P2p()}, {1, 1, Both()}, {2, 2, P2p()}, {3, 3, Aic()}}));
  for (const std::int32_t rank : {0, 1, 3}) rig.Opened(1, rank);
  rig.Say(Start{1});
  CHECK(rig.Done(1, 1, Op::kAic) == Lines{"spool outcome 1/1/aic ok: "});
  CHECK(rig.Opened(1, 2) == Lines{});  // rank 3 is still under way
  const Lines lines = rig.Done(1, 3, Op::kAic);
  CHECK(lines == Lines{"spool outcome 1/3/aic ok: ", "spool begun 1/0/p2p", "spool begun 1/1/p2p",
                       "spool begun 1/2/p2p", "prepare p2p 1/0 place 0 of 0@0 1@1 2@2",
                       "prepare p2p 1/1 place 1 of 0@0 1@1 2@2",
                       "prepare p2p 1/2 place 2 of 0@0 1@1 2@2", "quit 1/3"});
}

TEST_CASE("a rank whose aic was not ok is not in the group, and its p2p outcome has the reason") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Both()}, {1, 1, Both()}, {2, 2, Both()}, {3, 3, Both()}}));
  const auto later = [&](std::int32_t rank, OutcomeCode code) {
    return rig.Done(1, rank, Op::kAic, code, "why")[1];
  };
  CHECK(later(0, OutcomeCode::kFaulty) ==
        "spool outcome 1/0/p2p not_run: not started after aic faulty");
  CHECK(later(1, OutcomeCode::kNotRun) ==
        "spool outcome 1/1/p2p not_run: not started after aic not_run");
  CHECK(later(2, OutcomeCode::kVoltageNotRestored) ==
        "spool outcome 1/2/p2p not_run: not started after aic voltage_not_restored");
  CHECK(rig.Done(1, 3, Op::kAic) == Lines{"spool outcome 1/3/aic ok: ",
                                          "spool outcome 1/3/p2p not_run: " + kTooFew, "quit 1/3"});
}

TEST_CASE("p2p of a single rank does not run") {
  Rig rig;
  CHECK(rig.Begin(P2pOf(1)) ==
        Lines{"spool started 1", "spool outcome 1/0/p2p not_run: " + kTooFew, "quit 1/0"});
}

TEST_CASE("a rank that cannot prepare is left out of the group") {
  Rig rig;
  rig.Begin(P2pOf(4));
  CHECK(Prepared(&rig, 0, "a") == Lines{});
  CHECK(Prepared(&rig, 2, "", "no link") ==
        Lines{"spool outcome 1/2/p2p not_run: no link", "quit 1/2"});
  CHECK(rig.Gone(1, 1, "signal 11") == Lines{"make safe 1/1 on 1 within 30000"});
  CHECK(Prepared(&rig, 3, "d") == Lines{"run p2p 1/0 place 0 of 0@0 3@3 with a d",
                                        "run p2p 1/3 place 1 of 0@0 3@3 with a d"});
  CHECK(rig.Safe(1, 1) == Lines{"spool outcome 1/1/p2p not_run: worker died: signal 11 in p2p"});
}

TEST_CASE("p2p does not run when only one prepared rank is left") {
  Rig rig;
  rig.Begin(P2pOf(2));
  Prepared(&rig, 1, "b");
  CHECK(rig.Gone(1, 0, "exit status 3\nno memory") ==
        Lines{"spool outcome 1/1/p2p not_run: " + kTooFew, "make safe 1/0 on 0 within 30000",
              "quit 1/1"});
  CHECK(rig.Safe(1, 0) ==
        Lines{"spool outcome 1/0/p2p not_run: worker died: exit status 3 in p2p: no memory"});
}

TEST_CASE("a rank whose worker died after it prepared is left out") {
  Rig rig;
  rig.Begin(P2pOf(3));
  Prepared(&rig, 0, "a");
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{"make safe 1/0 on 0 within 30000"});
  Prepared(&rig, 1, "b");
  CHECK(Prepared(&rig, 2, "c") == Lines{"run p2p 1/1 place 0 of 1@1 2@2 with b c",
                                        "run p2p 1/2 place 1 of 1@1 2@2 with b c"});
}

TEST_CASE("a worker may answer p2p before RunP2p, but not with ok") {
  Rig rig;
  rig.Begin(P2pOf(4));
  CHECK(rig.Done(1, 0, Op::kP2p, OutcomeCode::kFaulty, "link down")[0] ==
        "spool outcome 1/0/p2p faulty: link down");
  CHECK(rig.Done(1, 1, Op::kP2p)[0] ==
        "spool outcome 1/1/p2p not_run: worker reported ok before p2p was started");
  CHECK(rig.Done(1, 2, Op::kAic) == Lines{});  // aic is not under way
}

TEST_CASE("the deadline of p2p counts from the preparation") {
  Rig rig;
  rig.Begin(P2pOf(2));
  rig.now += 500'000;
  Prepared(&rig, 0, "a");
  Prepared(&rig, 1, "b");
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 130'000);
  CHECK(rig.Tick(130'000) == Lines{"kill 1/0", "kill 1/1"});
  rig.Gone(1, 0, "signal 9");
  CHECK(rig.Safe(1, 0) == Lines{"spool outcome 1/0/p2p timeout: no answer within 600 s"});
}

TEST_CASE("a prepared rank gets not_run, not timeout, when another rank is not prepared in time") {
  Rig rig;
  rig.Begin(P2pOf(3));
  Prepared(&rig, 0, "a");
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 600'000);
  CHECK(rig.Tick(600'000) == Lines{"spool outcome 1/0/p2p not_run: p2p did not start within 600 s: "
                                   "another rank was not prepared",
                                   "quit 1/0"});
  rig.Gone(1, 0);
  rig.now += 3'200;
  CHECK(Prepared(&rig, 1, "b")[0] ==
        "spool outcome 1/1/p2p timeout: prepared p2p 3.2 s after its deadline of 600 s");
  rig.Gone(1, 1);
  CHECK(rig.Tick(26'800) == Lines{"kill 1/2"});
}

TEST_CASE("p2p does not run if its deadline passed without a tick") {
  Rig rig;
  rig.Begin(P2pOf(3));
  Prepared(&rig, 0, "a");
  Prepared(&rig, 1, "b");
  rig.now += 600'001;
  const Lines lines = Prepared(&rig, 2, "c");
  CHECK(lines.size() == 6);  // three outcomes, three quits
  CHECK(lines[0] == "spool outcome 1/2/p2p timeout: prepared p2p 1 ms after its deadline of 600 s");
}

TEST_CASE("a cancelled run does not run p2p that is only prepared") {
  Rig rig;
  rig.Begin(P2pOf(2));
  Prepared(&rig, 0, "a");
  CHECK(rig.Say(Cancel{1}) == Lines{"spool outcome 1/0/p2p not_run: cancelled", "quit 1/0"});
  CHECK(Prepared(&rig, 1, "b") == Lines{"spool outcome 1/1/p2p not_run: cancelled", "quit 1/1"});
}

TEST_CASE("a stopping agent still runs p2p that has begun") {
  Rig rig;
  rig.Begin(P2pOf(2));
  Prepared(&rig, 0, "a");
  CHECK(rig.Do(StopAsked{60'000}) == Lines{});
  CHECK(Prepared(&rig, 1, "b").size() == 2);
  CHECK(rig.Done(1, 0, Op::kP2p) == Lines{"spool outcome 1/0/p2p ok: ", "quit 1/0"});
}

TEST_CASE("a failed p2p preparation after the deadline is a timeout") {
  Rig rig;
  rig.Begin(P2pOf(2));
  rig.now += 601'000;
  CHECK(rig.Done(1, 0, Op::kP2p, kNotRun, "busy")[0] ==
        "spool outcome 1/0/p2p timeout: answered not_run 1 s after its deadline of 600 s: busy");
}
