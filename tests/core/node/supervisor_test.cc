// Supervisor: a run from Assign to its last acknowledgement, the link, the spool's records.
#include "core/node/supervisor.h"

#include <catch2/catch.hpp>

#include "tests/core/node/rig.h"

using namespace assay::core;
using namespace assay::core::node;

namespace {

constexpr OutcomeCode kOk = OutcomeCode::kOk;
constexpr OutcomeCode kNotRun = OutcomeCode::kNotRun;
constexpr OutcomeCode kFaulty = OutcomeCode::kFaulty;

// The reports of the Outcomes messages among a step's effects.
std::vector<std::vector<OutcomeReport>> Reports(Rig* rig, const NodeEvent& event) {
  NodeOutput out;
  rig->supervisor.Step(event, rig->now, &out);
  std::vector<std::vector<OutcomeReport>> messages;
  for (const NodeEffect& effect : out.effects) {
    const auto* send = std::get_if<SendToCoordinator>(&effect);
    const auto* said = send != nullptr ? std::get_if<Outcomes>(&send->message) : nullptr;
    if (said != nullptr) messages.push_back(said->reports);
  }
  return messages;
}

}  // namespace

TEST_CASE("a run goes from assign to drop") {
  Rig rig;
  CHECK(rig.Do(LinkUp{}) == Lines{"hello n1"});
  CHECK(rig.Say(Welcome{5000}) == Lines{});
  CHECK(rig.Say(TestAssign(1, {{0, 0, Both()}, {1, 1, Both()}})) ==
        Lines{"spool run 1", "spawn 1/0 on 0", "spawn 1/1 on 1"});
  CHECK_FALSE(rig.supervisor.idle());
  CHECK(rig.Opened(1, 0) == Lines{});
  CHECK(rig.Opened(1, 1) == Lines{"ready 1"});
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 3'600'000);
  CHECK(rig.Say(Start{1}) == Lines{"spool started 1", "spool begun 1/0/aic", "spool begun 1/1/aic",
                                   "progress 1/0/aic started", "run aic 1/0",
                                   "progress 1/1/aic started", "run aic 1/1"});
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 330'000);
  CHECK(rig.Do(WorkerProgressed{{1, 1}, Op::kAic, 40, "12 rounds"}) ==
        Lines{"progress 1/1/aic 40% 12 rounds"});
  rig.now += 1000;
  CHECK(rig.Done(1, 0, Op::kAic, kOk, "50 GFLOP/s") ==
        Lines{"spool outcome 1/0/aic ok: 50 GFLOP/s", "outcome 1/0/aic ok: 50 GFLOP/s"});
  CHECK(rig.supervisor.owing());
  CHECK(rig.Done(1, 1, Op::kAic) ==
        Lines{"spool outcome 1/1/aic ok: ", "spool begun 1/0/p2p", "spool begun 1/1/p2p",
              "progress 1/0/p2p started", "prepare p2p 1/0 place 0 of 0@0 1@1",
              "progress 1/1/p2p started", "prepare p2p 1/1 place 1 of 0@0 1@1",
              "outcome 1/1/aic ok: "});
  CHECK(rig.Do(WorkerP2pPrepared{{1, 1}, "b", ""}) == Lines{});
  CHECK(
      rig.Do(WorkerP2pPrepared{{1, 0}, "a", ""}) ==
      Lines{"run p2p 1/0 place 0 of 0@0 1@1 with a b", "run p2p 1/1 place 1 of 0@0 1@1 with a b"});
  rig.now += 1000;
  CHECK(rig.Done(1, 0, Op::kP2p, kOk, "9 GB/s") ==
        Lines{"spool outcome 1/0/p2p ok: 9 GB/s", "quit 1/0"});
  CHECK(rig.Gone(1, 0) == Lines{"outcome 1/0/p2p ok: 9 GB/s"});
  CHECK(rig.Done(1, 1, Op::kP2p, kFaulty, "2 mismatches") ==
        Lines{"spool outcome 1/1/p2p faulty: 2 mismatches", "quit 1/1"});
  CHECK(rig.Gone(1, 1) == Lines{"outcome 1/1/p2p faulty: 2 mismatches"});
  CHECK(rig.supervisor.idle());
  CHECK(rig.Say(Ack{{{1, 0, Op::kAic}, {1, 0, Op::kP2p}, {1, 1, Op::kP2p}}}) ==
        Lines{"spool acked 1/0/aic", "spool acked 1/0/p2p", "spool acked 1/1/p2p"});
  CHECK(rig.Ack(1, 1, Op::kAic) == Lines{"spool acked 1/1/aic", "spool drop 1"});
  CHECK_FALSE(rig.supervisor.owing());
  CHECK(rig.supervisor.spooled().empty());
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 3'600'000);
}

TEST_CASE("a rank that cannot get its device answers every op with the reason") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Say(TestAssign(7, {{0, 2, Aic()}}));

  const Lines lines = rig.Say(TestAssign(8, {{0, 8, Both()}, {1, -1, Aic()}, {2, 2, Aic()}}));
  CHECK(lines == Lines{"spool run 8",
                       "spool outcome 8/0/aic not_run: no device 8 on this node (it has 0-7)",
                       "spool outcome 8/0/p2p not_run: no device 8 on this node (it has 0-7)",
                       "spool outcome 8/1/aic not_run: no device -1 on this node (it has 0-7)",
                       "spool outcome 8/2/aic not_run: device 2 is held by run 7",
                       "outcome 8/0/aic not_run: no device 8 on this node (it has 0-7)",
                       "outcome 8/0/p2p not_run: no device 8 on this node (it has 0-7)",
                       "outcome 8/1/aic not_run: no device -1 on this node (it has 0-7)",
                       "outcome 8/2/aic not_run: device 2 is held by run 7", "ready 8"});
}

TEST_CASE("a refusal lists the node's devices as ranges, also with gaps or without devices") {
  const auto refusal = [](std::vector<std::int32_t> devices) {
    Node node = TestNode(0);
    for (const std::int32_t index : devices) node.devices.push_back({index, "sim", ""});
    Supervisor supervisor(node, {});
    NodeOutput out;
    supervisor.Step(CoordinatorSaid{TestAssign(1, {{0, 99, Aic()}})}, 5, &out);
    return supervisor.spooled().at(1).ranks[0].outcomes[Op::kAic].detail;
  };
  CHECK(refusal({6, 0, 1, 2}) == "no device 99 on this node (it has 0-2,6)");
  CHECK(refusal({}) == "no device 99 on this node (it has none)");
}

TEST_CASE("one run gives a device to one rank, and a rank number to one rank") {
  Rig rig;
  CHECK(rig.Say(TestAssign(1, {{5, 3, Aic()}, {4, 3, Aic()}, {5, 6, Aic()}, {6, 7, OpSet()}})) ==
        Lines{"spool run 1", "spool outcome 1/5/aic not_run: device 3 is held by run 1",
              "spawn 1/4 on 3"});
  CHECK(rig.supervisor.spooled().at(1).ranks.size() == 2);
}

TEST_CASE("an assign without ops is ready at once and stores nothing") {
  Rig rig;
  rig.Do(LinkUp{});
  CHECK(rig.Say(TestAssign(1, {})) == Lines{"ready 1"});
  CHECK(rig.Say(TestAssign(kNoRun, {{0, 0, Aic()}})) == Lines{});
  CHECK(rig.supervisor.spooled().empty());
}

TEST_CASE("a repeated assign is answered with the present state") {
  Rig rig;
  rig.Do(LinkUp{});
  const Assign assign = TestAssign(1, {{0, 0, Aic()}, {1, 9, Aic()}});
  rig.Say(assign);
  const std::string refused = "outcome 1/1/aic not_run: no device 9 on this node (it has 0-7)";
  CHECK(rig.Say(assign) == Lines{refused});
  CHECK(rig.Opened(1, 0) == Lines{"ready 1"});
  CHECK(rig.Say(assign) == Lines{refused, "ready 1"});
  rig.Ack(1, 1, Op::kAic);
  CHECK(rig.Say(assign) == Lines{"ready 1"});
  rig.Say(Start{1});
  CHECK(rig.Say(assign) == Lines{});
}

TEST_CASE("a message repeated after the end of its run changes nothing") {
  Rig rig;
  rig.Do(LinkUp{});
  const Assign assign = TestAssign(1, {{0, 9, Aic()}});
  rig.Say(assign);
  CHECK(rig.Ack(1, 0, Op::kAic).back() == "spool drop 1");
  CHECK(rig.Say(assign) == Lines{});
  CHECK(rig.Say(Discard{2}) == Lines{"discarded 2"});
  CHECK(rig.Say(TestAssign(2, {{0, 0, Aic()}})) == Lines{});
  // On a new stream it is not a repeat: a coordinator with a new database counts from 1.
  rig.Do(LinkUp{});
  CHECK(rig.Say(assign).front() == "spool run 1");
}

TEST_CASE("a start applies to each rank as soon as its device is open") {
  Rig rig;
  rig.Do(LinkUp{});
  CHECK(rig.Say(Start{1}) == Lines{});
  rig.Say(TestAssign(1, {{0, 0, Aic()}, {1, 1, Aic()}}));
  rig.Opened(1, 0);
  CHECK(rig.Say(Start{1}) ==
        Lines{"spool started 1", "spool begun 1/0/aic", "progress 1/0/aic started", "run aic 1/0"});
  CHECK(rig.Say(Start{1}) == Lines{});
  rig.now += 20'000;
  CHECK(rig.Opened(1, 1) ==
        Lines{"spool begun 1/1/aic", "progress 1/1/aic started", "run aic 1/1"});
  // Each deadline counts from the op's own start.
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 310'000);
}

TEST_CASE("a worker that cannot open its device quits before the last outcome is sent") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Say(TestAssign(1, {{0, 0, Both()}}));
  CHECK(rig.Do(WorkerFailed{{1, 0}, "no such chip"}) ==
        Lines{"spool outcome 1/0/aic not_run: no such chip",
              "spool outcome 1/0/p2p not_run: no such chip", "quit 1/0",
              "outcome 1/0/aic not_run: no such chip"});
  CHECK(rig.Do(WorkerFailed{{1, 0}, "again"}) == Lines{});
  CHECK(rig.Gone(1, 0) == Lines{"outcome 1/0/p2p not_run: no such chip", "ready 1"});
  CHECK(rig.Gone(1, 0) == Lines{});
}

TEST_CASE("a worker has 60 s to open its device") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Say(TestAssign(1, {{0, 0, Aic()}}));
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 60'000);
  CHECK(rig.Tick(59'999) == Lines{});
  CHECK(rig.Tick(1) ==
        Lines{"spool outcome 1/0/aic not_run: worker did not open its device within 60 s",
              "kill 1/0"});
  CHECK(rig.Opened(1, 0) == Lines{});
  CHECK(rig.Gone(1, 0, "signal 9") ==
        Lines{"outcome 1/0/aic not_run: worker did not open its device within 60 s", "ready 1"});
}

TEST_CASE("a worker that does not quit is killed and its device is made safe") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Begin(TestAssign(1, {{0, 0, Aic()}}));
  rig.Done(1, 0, Op::kAic);
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 5'000);
  CHECK(rig.Tick(5'000) == Lines{"kill 1/0"});
  CHECK(rig.Gone(1, 0, "signal 9") == Lines{"make safe 1/0 on 0 within 30000"});
  CHECK_FALSE(rig.supervisor.idle());
  // Recorded outcomes never change.
  CHECK(rig.Safe(1, 0, true, "0.8 V") == Lines{"outcome 1/0/aic ok: "});
  CHECK(rig.supervisor.idle());
}

TEST_CASE("a device is free for the next run as soon as its worker has exited") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Aic()}}));
  rig.Done(1, 0, Op::kAic);
  rig.Say(TestAssign(2, {{0, 0, Aic()}}));
  CHECK(rig.supervisor.spooled().at(2).ranks[0].outcomes[Op::kAic].detail ==
        "device 0 is held by run 1");
  rig.Gone(1, 0);
  CHECK(rig.Say(TestAssign(3, {{0, 0, Aic()}})) == Lines{"spool run 3", "spawn 3/0 on 0"});
}

TEST_CASE("progress is sent at most once a second and only for the op under way") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Begin(TestAssign(1, {{0, 0, Both()}}));
  const auto progress = [&](Op op, std::int32_t percent) {
    return rig.Do(WorkerProgressed{{1, 0}, op, percent, "x"});
  };
  CHECK(progress(Op::kP2p, 1) == Lines{});
  CHECK(progress(Op::kAic, 101) == Lines{"progress 1/0/aic 100% x"});
  rig.now += 999;
  CHECK(progress(Op::kAic, 3) == Lines{});
  rig.now += 1;
  CHECK(progress(Op::kAic, -5) == Lines{"progress 1/0/aic 0% x"});
}

TEST_CASE("a new link gets all unacknowledged state; without a link nothing is sent") {
  Rig rig;
  rig.Say(TestAssign(1, {{0, 0, Aic()}, {1, 9, Aic()}}));
  rig.Say(TestAssign(2, {{0, 1, Aic()}}));
  rig.Opened(1, 0);
  rig.Opened(2, 0);
  rig.Say(Start{2});
  const std::string refused = "outcome 1/1/aic not_run: no device 9 on this node (it has 0-7)";
  CHECK(rig.Do(LinkUp{}) ==
        Lines{"hello n1 1 2 started", "progress 2/0/aic started", refused, "ready 1"});
  CHECK(rig.Tick(1) == Lines{});
  CHECK(rig.Do(LinkDown{}) == Lines{});
  CHECK(rig.Done(2, 0, Op::kAic) == Lines{"spool outcome 2/0/aic ok: ", "quit 2/0"});
  CHECK(rig.Gone(2, 0) == Lines{});
  CHECK(rig.Say(Discard{99}) == Lines{});
  CHECK(rig.Tick(60'000) == Lines{});
  CHECK(rig.Do(LinkUp{}) ==
        Lines{"hello n1 1 2 started", refused, "outcome 2/0/aic ok: ", "ready 1"});
}

TEST_CASE("outcomes are sent again after 5 s without an ack") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Say(TestAssign(1, {{0, 9, Both()}}));
  const std::string reason = " not_run: no device 9 on this node (it has 0-7)";
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 5'000);
  CHECK(rig.Tick(4'999) == Lines{});
  CHECK(rig.Tick(1) == Lines{"outcome 1/0/aic" + reason, "outcome 1/0/p2p" + reason});
  rig.now += 3'000;
  rig.Ack(1, 0, Op::kAic);
  CHECK(rig.supervisor.NextDeadline(rig.now) == rig.now + 5'000);
  // A repeated ack does not postpone the next send.
  rig.now += 3'000;
  CHECK(rig.Ack(1, 0, Op::kAic) == Lines{});
  CHECK(rig.Tick(2'000) == Lines{"outcome 1/0/p2p" + reason});
  CHECK(rig.Ack(1, 0, Op::kP2p) == Lines{"spool acked 1/0/p2p", "spool drop 1"});
}

TEST_CASE("acks of outcomes that were not sent change nothing") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Begin(TestAssign(1, {{0, 0, Aic()}}));
  CHECK(rig.Ack(1, 0, Op::kAic) == Lines{});
  rig.Done(1, 0, Op::kAic);
  CHECK(rig.Ack(1, 0, Op::kAic) == Lines{});  // its worker has not exited
  CHECK(rig.Ack(1, 0, Op::kP2p) == Lines{});
  CHECK(rig.Ack(1, 1, Op::kAic) == Lines{});
  CHECK(rig.Ack(2, 0, Op::kAic) == Lines{});
  CHECK(rig.Gone(1, 0) == Lines{"outcome 1/0/aic ok: "});
}

TEST_CASE("ages count back from the moment of sending") {
  Rig rig;
  rig.Begin(TestAssign(1, {{0, 0, Aic()}, {1, 9, Aic()}}));
  rig.now += 2'000;
  rig.Done(1, 0, Op::kAic);
  rig.Gone(1, 0);
  rig.now += 500;
  const auto messages = Reports(&rig, LinkUp{});
  REQUIRE(messages.size() == 1);
  CHECK(Show(messages[0][0], true) == "1/0/aic ok: , started 2500 ago, finished 500 ago");
  CHECK(messages[0][1].started_ago == -1);
  CHECK(messages[0][1].finished_ago == 2'500);
  rig.now -= 60'000;  // the system clock was set back
  CHECK(Reports(&rig, LinkUp{})[0][0].finished_ago == 0);
}

TEST_CASE("a message has at most 1000 outcomes, a detail at most 512 bytes of escaped text") {
  Rig rig;
  std::vector<AssignedRank> ranks;
  for (std::int32_t i = 0; i < 1'001; ++i) ranks.push_back({i, 0, i == 0 ? Aic() : Both()});
  rig.Say(TestAssign(1, ranks));
  rig.Do(WorkerFailed{{1, 0}, "a\tb\x01" + std::string(600, 'x') + "\xff"});
  rig.Gone(1, 0);
  const auto messages = Reports(&rig, LinkUp{});
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].size() == 1'000);
  CHECK(messages[1].size() == 1'000);
  CHECK(messages[2].size() == 1);
  const std::string& detail = messages[0][0].detail;
  CHECK(detail.size() == 512);
  CHECK(detail.substr(0, 12) == "a\\tb\\u0001xx");
  CHECK(detail.substr(508) == "x...");
}

TEST_CASE("events of unknown workers and of workers in another phase change nothing") {
  Rig rig;
  rig.Do(LinkUp{});
  rig.Say(TestAssign(1, {{0, 0, Both()}}));
  for (const WorkerKey& key : {WorkerKey{1, 1}, WorkerKey{2, 0}}) {
    CHECK(rig.Do(WorkerOpened{key}) == Lines{});
    CHECK(rig.Do(WorkerFailed{key, "x"}) == Lines{});
    CHECK(rig.Do(WorkerProgressed{key, Op::kAic, 1, "x"}) == Lines{});
    CHECK(rig.Do(WorkerP2pPrepared{key, "x", ""}) == Lines{});
    CHECK(rig.Do(WorkerOpDone{key, Op::kAic, kNotRun, ""}) == Lines{});
    CHECK(rig.Do(WorkerGone{key, "x"}) == Lines{});
    CHECK(rig.Do(DeviceSafe{key, true, "x"}) == Lines{});
  }
  CHECK(rig.Safe(1, 0) == Lines{});
  CHECK(rig.Done(1, 0, Op::kAic) == Lines{});
  CHECK(rig.Say(Cancel{2}) == Lines{});
}

TEST_CASE("a spool record changes only the state it names") {
  Spooled spooled;
  Apply(SpoolRun{TestAssign(1, {{0, 3, Aic()}, {2, 4, Both()}})}, &spooled);
  const Outcome first{kFaulty, "2 bad", 5, 6};
  Apply(SpoolOutcome{{1, 2, Op::kAic}, first}, &spooled);
  const Spooled before = spooled;
  CHECK(before.at(1).assign.ranks.empty());
  CHECK(before.at(1).ranks[1].outcomes[Op::kAic] == first);

  Apply(SpoolRun{TestAssign(1, {{7, 7, Aic()}})}, &spooled);
  Apply(SpoolOutcome{{1, 2, Op::kAic}, {kOk, "", 0, 9}}, &spooled);
  Apply(SpoolOutcome{{1, 0, Op::kP2p}, first}, &spooled);  // not an op of rank 0
  Apply(SpoolOutcome{{1, 1, Op::kAic}, first}, &spooled);
  Apply(SpoolBegun{{2, 0, Op::kAic}, 5}, &spooled);
  Apply(SpoolAcked{{1, 0, Op::kAic}}, &spooled);  // not answered
  Apply(SpoolStarted{2}, &spooled);
  Apply(SpoolDrop{2}, &spooled);
  CHECK(spooled == before);
  Apply(SpoolDrop{1}, &spooled);
  CHECK(spooled.empty());
}
