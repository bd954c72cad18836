#include "core/cluster/cluster.h"

#include <catch2/catch.hpp>

#include "tests/support/cluster_world.h"

using namespace assay::core;
using namespace assay::support;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

// One job on two nodes with two devices each, both agents attached.
struct TwoNodes : World {
  TwoNodes() {
    a = Attach("a");
    b = Attach("b");
    Apply("j", MakeTable({{"a", {0, 1}}, {"b", {0, 1}}}));
  }
  RunId Started() {
    const RunId run = Stress("j").run;
    Say(a, Ready{run});
    Say(b, Ready{run});
    REQUIRE(RunOf(run).state == RunState::kTesting);
    return run;
  }
  void AllOk(LinkId link, RunId run, std::vector<int> ranks) {
    for (const int rank : ranks) {
      Answered(link, run, rank, Op::kAic);
      Answered(link, run, rank, Op::kP2p);
    }
  }
  LinkId a = 0;
  LinkId b = 0;
};

}  // namespace

TEST_CASE(
    "a run on agents is assigned, started when all are ready, and ends with its last outcome") {
  TwoNodes world;
  const StreamId early = world.Subscribe("j", Topic::kResult);
  CHECK(world.Last<EndStream>().at(0).status.text() == "jobId=j is not stress test");
  (void)early;

  const Answer answer = world.Stress("j");
  CHECK(answer.verdict == Verdict::kAccepted);
  CHECK(answer.text == "stress test operation was successfully distributed");
  CHECK(answer.executor == Executor::kAgent);
  REQUIRE(world.Sent<Assign>().size() == 2);
  CHECK(world.Sent<Assign>()[0].second.ranks ==
        std::vector<AssignedRank>{{0, 0, OpSet(3)}, {1, 1, OpSet(3)}});
  CHECK(world.durable().leases.size() == 4);

  const StreamId waiting = world.Subscribe("j", Topic::kResult);
  CHECK(world.Last<AttachStream>().at(0).stream == waiting);

  world.Say(world.a, Ready{answer.run});
  CHECK(world.Sent<Start>().empty());
  world.Say(world.b, Ready{answer.run});
  CHECK(world.Sent<Start>().size() == 2);

  world.AllOk(world.a, answer.run, {0, 1});
  CHECK(world.durable().leases.size() == 2);
  world.AllOk(world.b, answer.run, {2});
  world.Answered(world.b, answer.run, 3, Op::kAic);
  CHECK(world.Last<PublishResult>().empty());
  world.Answered(world.b, answer.run, 3, Op::kP2p);
  REQUIRE(world.Last<PublishResult>().size() == 1);
  CHECK(
      *world.Last<PublishResult>()[0].message ==
      R"(stress test finish, result:{"a":{"0":{"rankResult":{"0":{"code":"0","result":"OK"},"1":{"code":"0","result":"OK"}}},"1":{"rankResult":{"0":{"code":"0","result":"OK"},"1":{"code":"0","result":"OK"}}}},"b":{"0":{"rankResult":{"0":{"code":"0","result":"OK"},"1":{"code":"0","result":"OK"}}},"1":{"rankResult":{"0":{"code":"0","result":"OK"},"1":{"code":"0","result":"OK"}}}}})");
  CHECK(world.RunOf(answer.run).state == RunState::kClosed);
  CHECK(world.durable().leases.empty());

  // Late subscribers get the result for result_replay (24 h).
  const StreamId late = world.Subscribe("j", Topic::kResult);
  CHECK(world.Last<ReplayResult>().at(0).stream == late);
  world.Pass(world.settings().result_replay + 1);
  world.Subscribe("j", Topic::kResult);
  CHECK(world.Last<EndStream>().size() == 1);
}

TEST_CASE("every reported outcome is acknowledged, also a repeated one") {
  TwoNodes world;
  const RunId run = world.Started();
  for (int i = 0; i < 2; ++i) {
    world.Answered(world.a, run, 0, Op::kAic, OutcomeCode::kFaulty, i == 0 ? "first" : "second");
    CHECK(world.Sent<Ack>().at(0).second.keys == std::vector<OutcomeKey>{{run, 0, Op::kAic}});
  }
  CHECK(world.RunOf(run).ranks[0].outcomes[Op::kAic].detail == "first");
  // Outcomes of another node's rank or of an unknown run are acknowledged but not recorded.
  world.Answered(world.b, run, 1, Op::kAic);
  CHECK(world.Sent<Ack>().size() == 1);
  CHECK(world.RunOf(run).ranks[1].answered.empty());
  world.Answered(world.b, 99, 1, Op::kAic);
  CHECK(world.Sent<Ack>().size() == 1);
}

TEST_CASE("refusals have a verdict and ClusterD's text") {
  TwoNodes world;
  world.Apply("pending", MakeTable({}));
  const auto refused = [&](StressRequested asked) {
    asked.call = world.NextId();
    world.Step(asked);
    const Answer answer = world.Last<Answer>().at(0);
    CHECK(answer.verdict != Verdict::kAccepted);
    CHECK(answer.text.size() < 1024);
    return std::string(Name(answer.verdict)) + " " + answer.text;
  };
  StressRequested asked;
  asked.job = "unknown";
  CHECK(refused(asked) == "bad_parameter job:unknown not exist");
  asked.job = std::string(10'000, 'x');
  CHECK_THAT(refused(asked), Contains("not exist"));
  asked.job = "pending";
  CHECK_THAT(refused(asked), Contains("no_executor") && Contains("rank table"));
  asked.job = "j";
  CHECK(refused(asked) == "bad_parameter stress test node is nil");
  asked.node_ops = {{"a", {}}};
  CHECK(refused(asked) == "bad_parameter node:a stress test ops is 0");
  asked.node_ops = {{"z", {0}}};
  CHECK(refused(asked) == "bad_parameter node:z not exist in job:j");
  asked.node_ops = {{"a", {0, 7}}};
  CHECK(refused(asked) == "bad_parameter op:7 not exist in support operation:[0 1]");
  asked.node_ops = {{"a", {1, 1}}};
  CHECK(refused(asked) == "bad_parameter node:a stress test ops should not repeat");
  asked.all_ops = {0, 0};
  CHECK(refused(asked) == "bad_parameter node:AllNodes stress test ops should not repeat");
  asked.all_ops = {};
  asked.node_ops = {{"a", {0}}};
  asked.demand = ExecutorDemand::kSubscriber;
  CHECK_THAT(refused(asked), Contains("no_executor job:j has no subscriber"));
  CHECK(world.durable().runs.empty());
  CHECK(world.durable().leases.empty());

  world.Stress("j");
  asked.demand = ExecutorDemand::kAuto;
  CHECK_THAT(refused(asked), Contains("busy jobId=j om is running, or job recovering"));
}

TEST_CASE("an agent that does not have a rank's device cannot execute it") {
  World world;
  const auto attach = [&](const std::string& name, std::vector<std::int32_t> devices) {
    Hello hello = world.HelloOf(name);
    hello.node.devices.clear();
    for (const std::int32_t device : devices) hello.node.devices.push_back({device, "sim", ""});
    const LinkId link = world.NextId();
    world.Step(LinkMessage{link, std::move(hello)});
    return link;
  };
  attach("a", {0, 1, 2, 3});
  const LinkId b = attach("b", {});
  world.Apply("j", MakeTable({{"a", {3, 4, 15}}, {"b", {0}}}));
  const Answer answer = world.Stress("j");
  CHECK(answer.verdict == Verdict::kNoExecutor);
  CHECK(answer.text ==
        "no agent can execute the test on 2 nodes: "
        "node \"a\": its agent does not list device 4, 15, but lists 4 devices from 0 to 3; "
        "node \"b\": its agent does not list device 0, nor any other device");
  CHECK(world.durable().runs.empty());
  CHECK(world.durable().leases.empty());
  world.Apply("many", MakeTable({{"b", {1, 2, 3, 4, 5, 6, 8}}}));
  CHECK_THAT(world.Stress("many").text, Contains("does not list device 1, 2, 3, 4, 5 and 2 more,"));
  world.Apply("host", MakeTable({{"a", {0, -1}}}));
  CHECK_THAT(world.Stress("host").text, Contains("\"a\": a rank runs on the CPU, not on a device"));

  // A subscriber needs no agent, and an agent that attaches again with more devices is eligible.
  world.Subscribe("many", Topic::kNotify);
  CHECK(world.Stress("many").verdict == Verdict::kAccepted);
  world.Apply("k", MakeTable({{"b", {7}}}));
  CHECK(world.Stress("k").verdict == Verdict::kNoExecutor);
  world.Step(LinkClosed{b});
  world.Attach("b");
  CHECK(world.Stress("k").verdict == Verdict::kAccepted);
}

TEST_CASE("the refusal names a node without an attached agent") {
  TwoNodes world;
  world.Step(LinkClosed{world.b});
  const Answer answer = world.Stress("j");
  CHECK(answer.verdict == Verdict::kNoExecutor);
  CHECK_THAT(answer.text, Contains("node \"b\": its agent is not attached"));
  world.Apply("k", MakeTable({{"nowhere", {0}}}));
  CHECK_THAT(world.Stress("k").text, Contains("node \"nowhere\": no attached agent"));
}

TEST_CASE("the events of a node say who caused them") {
  Settings settings;
  World world(settings);
  const auto text = [&](const std::string& kind) -> std::string {
    for (const Record& record : world.last().records) {
      const auto* event = std::get_if<AddEvent>(&record);
      if (event != nullptr && event->kind == kind) return event->text;
    }
    return "no event " + kind;
  };
  const LinkId link = world.NextId();
  world.Step(LinkMessage{link, world.HelloOf("a"), {"ipv4:192.0.2.1:5000", ""}});
  CHECK_THAT(text("node_attached"), EndsWith(", from ipv4:192.0.2.1:5000"));
  world.Step(LinkClosed{link});
  world.Pass(settings.agent_timeout);
  world.Step(LinkMessage{world.NextId(), world.HelloOf("a", "other"), {"ipv4:192.0.2.2:5000", ""}});
  CHECK_THAT(text("node_taken_over"), EndsWith("; it attached from ipv4:192.0.2.2:5000"));
  CHECK_THAT(text("node_attached"), EndsWith(", from ipv4:192.0.2.2:5000"));

  const LinkId other = world.NextId();
  world.Step(LinkMessage{other, world.HelloOf("b"), {"ipv4:192.0.2.3:5000", ""}});
  world.Step(LinkClosed{other});
  world.Step(NodeForgotten{world.NextId(), {"ipv4:127.0.0.1:6000", ""}, "b"});
  CHECK(text("node_forgotten") == "by ipv4:127.0.0.1:6000");
}

TEST_CASE("a rank table's node finds its agent by name, host name, FQDN or address") {
  World world;
  Hello a = world.HelloOf("a");
  a.node.addresses = {"192.0.2.1", "192.0.2.9", "127.0.0.1", "fe80::1"};
  Hello b = world.HelloOf("b");
  b.node.addresses = {"192.0.2.2", "192.0.2.9", "127.0.0.1", "fe80::1"};
  b.node.fqdn = a.node.host_name;
  world.Step(LinkMessage{world.NextId(), a});
  world.Step(LinkMessage{world.NextId(), b});
  const auto agent = [&](const std::string& node) {
    const std::string job = "job-" + node;
    world.Apply(job, MakeTable({{node, {0}}}));
    world.Step(JobStateSet{world.NextId(), {}, job, JobState::kComplete});
    StressRequested asked;
    asked.call = world.NextId();
    asked.job = job;
    asked.all_ops = {0};
    asked.check = true;
    world.Step(asked);
    const Answer answer = world.Last<Answer>().at(0);
    return answer.plan ? answer.plan->at(0).agent : answer.text;
  };
  CHECK(agent("a") == "a");
  CHECK(agent("host-a") == "a");  // a's host name decides before b's FQDN
  CHECK(agent("host-a.example") == "a");
  CHECK(agent("192.0.2.2") == "b");
  for (const std::string nobody : {"192.0.2.9", "127.0.0.1", "fe80::1", "192.0.2.77"}) {
    CHECK_THAT(agent(nobody), Contains("no attached agent"));
  }
  Hello c = world.HelloOf("c");
  c.node.host_name = "host-a";
  world.Step(LinkMessage{world.NextId(), c});
  CHECK_THAT(agent("host-a"), Contains("agents \"a\" and \"c\" both have it as their host name"));
  CHECK(world.durable().runs.empty());
}

TEST_CASE("a test is refused if a device is under test or part of another running job") {
  TwoNodes world;
  world.Apply("k", MakeTable({{"a", {1, 2}}}));
  CHECK_THAT(world.Stress("j").text,
             Contains("device 1 of node \"a\" is part of running job \"k\""));
  world.Step(JobStateSet{world.NextId(), {}, "k", JobState::kComplete});
  REQUIRE(world.Stress("j").verdict == Verdict::kAccepted);
  CHECK_THAT(world.Stress("k").text, Contains("device 1 of node \"a\" is under test in run 1"));
  world.Step(JobStateSet{world.NextId(), {}, "j", JobState::kComplete});
  world.Apply("l", MakeTable({{"a", {2, 3}}}));
  CHECK(world.Stress("l").verdict == Verdict::kAccepted);  // other devices of the same node
}

TEST_CASE("the same identity attaches again at once; another one only after the agent timeout") {
  World world;
  const LinkId first = world.Attach("a", "one");
  world.Attach("a", "two");
  REQUIRE(world.Last<EndLink>().size() == 1);
  CHECK_THAT(world.Last<EndLink>()[0].status.text(), Contains("another agent is attached"));
  const LinkId again = world.Attach("a", "one");
  CHECK(world.Last<EndLink>().at(0).link == first);
  world.Step(LinkClosed{first});
  CHECK(world.durable().nodes.at("a").attached);
  world.Step(LinkClosed{again});
  CHECK_FALSE(world.durable().nodes.at("a").attached);
  world.Attach("a", "two");
  CHECK_THAT(world.Last<EndLink>().at(0).status.text(), Contains("was attached a moment ago"));
  world.Pass(world.settings().agent_timeout);
  world.Attach("a", "two");
  CHECK(world.Last<EndLink>().empty());
  CHECK(world.durable().nodes.at("a").identity == "two");
}

TEST_CASE("a subscriber is notified once, replies add up, repeats change nothing") {
  World world;
  world.Apply("j", MakeTable({{"a", {0, 1}}}));
  const StreamId one = world.Subscribe("j", Topic::kNotify);
  world.Subscribe("j", Topic::kNotify);
  const Answer answer = world.Stress("j", {1, 0});
  REQUIRE(answer.verdict == Verdict::kAccepted);
  CHECK(answer.executor == Executor::kSubscriber);
  REQUIRE(world.Last<PublishNotify>().size() == 1);
  CHECK(world.Last<PublishNotify>()[0].ranks->size() == 2);
  world.Step(StreamClosed{one});  // closing its stream does not end the run

  CHECK(world.Reply("j", {{"0", "0", "0", "OK"}, {"0", "1", "0", "OK"}}).text == "reply success");
  CHECK(world.Reply("j", {{"0", "0", "2", "other"}}).verdict == Verdict::kAccepted);
  CHECK(world.RunOf(answer.run).ranks[0].outcomes[Op::kAic].code == OutcomeCode::kOk);
  const Answer bad = world.Reply(
      "j", {{"7", "0", "0", ""}, {"1", "9", "0", ""}, {"1", "0", "5", ""}, {"1", "1", "0", "OK"}});
  CHECK(bad.verdict == Verdict::kBadParameter);
  CHECK_THAT(bad.text, Contains("rank:7") && Contains("op:9") && Contains("code:5"));
  CHECK(world.RunOf(answer.run).open == 1);
  world.Reply("j", {{"1", "0", "2", "find fault - rank, bit"}});
  CHECK_THAT(world.RunOf(answer.run).message,
             Contains("stress test find fault, isolate node:map[a:{}],result:"));
  CHECK(world.Reply("unknown", {}).verdict == Verdict::kNotRegistered);
  CHECK_THAT(world.Reply("j", {{"1", "0", "0", ""}}).text, Contains("no outcome was changed"));
}

TEST_CASE("the next notification waits for reply_quiet after the last reply") {
  World world;
  world.Apply("j", MakeTable({{"a", {0, 1}}}));
  world.Subscribe("j", Topic::kNotify);
  world.Stress("j", {0});
  world.Reply("j", {{"0", "0", "0", "OK"}, {"1", "0", "0", "OK"}});
  const Answer second = world.Stress("j", {0});
  REQUIRE(second.verdict == Verdict::kAccepted);
  CHECK(world.Last<PublishNotify>().empty());
  // A repeat of the first reply during this time does not count for the second run.
  CHECK(world.Reply("j", {{"0", "0", "0", "OK"}}).verdict == Verdict::kAccepted);
  CHECK(world.RunOf(second.run).open == 2);
  world.Let(world.settings().reply_quiet - 1);
  CHECK(world.RunOf(second.run).state == RunState::kAccepted);
  world.Let(1);
  CHECK(world.RunOf(second.run).state == RunState::kTesting);
}

TEST_CASE("an unanswered subscriber-run ends in timeouts and blocks the job until the reply") {
  World world;
  world.Apply("j", MakeTable({{"a", {0, 1}}}));
  world.Subscribe("j", Topic::kNotify);
  const RunId run = world.Stress("j", {0}).run;
  world.Let(world.RunOf(run).deadline - world.now());
  CHECK(world.RunOf(run).state == RunState::kClosed);
  CHECK_THAT(world.RunOf(run).message, Contains("stress test timeout fault, faultRank:[0 1]"));
  CHECK_THAT(world.Stress("j").text, Contains("om is running") && Contains("without the reply"));
  world.Reply("j", {{"0", "0", "0", "late"}});
  CHECK(world.Stress("j").verdict == Verdict::kAccepted);
}

TEST_CASE("after a restart no run is notified twice, and an unsent notification is sent") {
  World world;
  world.Apply("j", MakeTable({{"a", {0}}}));
  world.Subscribe("j", Topic::kNotify);
  const RunId first = world.Stress("j", {0}).run;
  world.Restart();
  world.Subscribe("j", Topic::kNotify);
  CHECK(world.Last<PublishNotify>().empty());
  world.Reply("j", {{"0", "0", "0", "OK"}});
  CHECK(world.RunOf(first).state == RunState::kClosed);

  const RunId second = world.Stress("j", {0}).run;
  REQUIRE(world.RunOf(second).state == RunState::kAccepted);  // within the quiet time
  world.Restart();
  world.Pass(world.settings().reply_quiet);
  world.Subscribe("j", Topic::kNotify);
  CHECK(world.Last<PublishNotify>().size() == 1);
}

TEST_CASE("ranks of a subscriber that does not return in time are not run") {
  World world;
  world.Apply("j", MakeTable({{"a", {0}}}));
  const StreamId stream = world.Subscribe("j", Topic::kNotify);
  world.Stress("j", {0});
  world.Reply("j", {{"0", "0", "0", "OK"}});
  const RunId run = world.Stress("j", {0}).run;
  world.Step(StreamClosed{stream});
  world.Let(world.settings().reply_quiet + world.settings().start_allowance);
  CHECK(world.RunOf(run).state == RunState::kClosed);
  CHECK_THAT(world.RunOf(run).message,
             Contains("stress test finish, not run on rank:[0],result:") &&
                 Contains("executor not connected"));
  CHECK(world.Stress("j").verdict ==
        Verdict::kNoExecutor);  // no reply is outstanding, but there is no executor
}

TEST_CASE("an agent that is not ready in time is left out; the others are started") {
  TwoNodes world;
  const RunId run = world.Stress("j").run;
  world.Say(world.a, Ready{run});
  world.Let(world.settings().start_allowance);
  CHECK(world.RunOf(run).state == RunState::kTesting);
  CHECK_THAT(world.RunOf(run).ranks[2].outcomes[Op::kAic].detail,
             Contains("not ready within 60 s"));
  // The agent is sent Discard, and its devices stay leased until it confirms.
  CHECK(world.Ever<ToAgent>().size() > 0);
  CHECK(world.durable().leases.size() == 4);
  world.Say(world.b, Discarded{run});
  CHECK(world.durable().leases.size() == 2);
  world.AllOk(world.a, run, {0, 1});
  CHECK(world.RunOf(run).state == RunState::kClosed);
}

TEST_CASE("agents that attach again are sent the assign, start or discard they lack") {
  TwoNodes world;
  const RunId run = world.Stress("j").run;
  world.Restart();
  world.a = world.Attach("a");  // the assignment never reached it
  CHECK(world.Sent<Assign>().size() == 1);
  world.b = world.Attach("b", "", {{run, false}});
  CHECK(world.Sent<Assign>().empty());
  world.Say(world.a, Ready{run});
  world.Say(world.b, Ready{run});
  REQUIRE(world.RunOf(run).state == RunState::kTesting);
  world.Restart();
  world.a = world.Attach("a", "", {{run, false}});  // the start never reached it
  CHECK(world.Sent<Start>().size() == 1);
  world.b = world.Attach("b", "", {{run, true}, {77, true}});
  CHECK(world.Sent<Start>().empty());
  REQUIRE(world.Sent<Discard>().size() == 1);
  CHECK(world.Sent<Discard>()[0].second.run == 77);
  world.AllOk(world.a, run, {0, 1});
  world.AllOk(world.b, run, {2, 3});
  CHECK(world.RunOf(run).state == RunState::kClosed);
}

TEST_CASE(
    "ranks of an agent that lost a started run are not run; without the agent they time out") {
  TwoNodes world;
  const RunId run = world.Started();
  world.Step(LinkClosed{world.a});
  world.Step(LinkClosed{world.b});
  world.a = world.Attach("a");
  CHECK(world.RunOf(run).ranks[0].outcomes[Op::kAic].code == OutcomeCode::kNotRun);
  CHECK(world.RunOf(run).open == 4);
  world.Let(world.RunOf(run).deadline - world.now());
  CHECK(world.RunOf(run).state == RunState::kClosed);
  CHECK_THAT(world.RunOf(run).message, Contains("faultRank:[2 3]"));
  // Its devices stay leased until it confirms the Discard.
  CHECK(world.durable().leases.size() == 2);
  CHECK(world.Stress("j").verdict == Verdict::kNoExecutor);
  world.b = world.Attach("b", "", {{run, true}});
  CHECK(world.Sent<Discard>().size() == 1);
  CHECK(world.Stress("j").verdict == Verdict::kBusy);
  world.Say(world.b, Discarded{run});
  CHECK(world.Stress("j").verdict == Verdict::kAccepted);
}

TEST_CASE("a rank's deadline counts from its own start") {
  TwoNodes world;
  const RunId run = world.Started();
  world.Pass(10'000);
  world.Say(world.a, Progress{run, 0, Op::kAic, true, 0, ""});
  const Ms deadline = world.RunOf(run).ranks[0].deadline;
  CHECK(deadline == world.now() + 300'000 + 600'000 + 4 * 30'000);
  world.Say(world.a, Progress{run, 0, Op::kAic, true, 0, ""});  // a repeat does not extend it
  CHECK(world.RunOf(run).ranks[0].deadline == deadline);
  world.Let(deadline - world.now());
  CHECK(world.RunOf(run).ranks[0].outcomes[Op::kAic].code == OutcomeCode::kTimeout);
  CHECK(world.RunOf(run).open == 6);
}

TEST_CASE("cancelling a run on agents sends Cancel to attached ones and ends in bounded time") {
  TwoNodes world;
  const RunId run = world.Started();
  world.Step(LinkClosed{world.b});
  world.Step(RunCancelled{world.NextId(), {"me", ""}, run});
  CHECK(world.Last<Answer>().at(0).run_state == RunState::kCancelling);
  CHECK(world.Sent<Cancel>().size() == 1);
  world.Answered(world.a, run, 0, Op::kAic);  // still counts
  for (const auto& [rank, op] : {std::pair(0, Op::kP2p), {1, Op::kAic}, {1, Op::kP2p}}) {
    world.Answered(world.a, run, rank, op, OutcomeCode::kNotRun, "cancelled");
  }
  world.Let(world.settings().start_allowance + 3 * world.settings().kill_grace);
  CHECK(world.RunOf(run).state == RunState::kClosed);
  CHECK_THAT(world.RunOf(run).message, Contains("stress test cancelled,result:"));
  world.Step(RunCancelled{world.NextId(), {}, run});
  CHECK_THAT(world.Last<Answer>().at(0).text, Contains("has already ended"));
  world.Step(RunCancelled{world.NextId(), {}, 99});
  CHECK_THAT(world.Last<Answer>().at(0).text, Contains("does not exist"));
}

TEST_CASE("a cancelled subscriber-run waits for its replies") {
  World world;
  world.Apply("j", MakeTable({{"a", {0, 1}}}));
  world.Subscribe("j", Topic::kNotify);
  const RunId run = world.Stress("j", {0}).run;
  world.Step(RunCancelled{world.NextId(), {}, run});
  CHECK(world.RunOf(run).state == RunState::kCancelling);
  world.Reply("j", {{"0", "0", "0", "OK"}});
  world.Let(world.RunOf(run).deadline - world.now());
  CHECK(world.RunOf(run).state == RunState::kClosed);
  CHECK_THAT(world.RunOf(run).message, Contains("cancelled") && Contains("\"code\":\"0\""));
}

TEST_CASE("a job under test keeps its table and cannot be deleted; its state may change") {
  TwoNodes world;
  const RunId run = world.Stress("j").run;
  CHECK(world.Apply("j", MakeTable({{"a", {3}}})).verdict == Verdict::kBusy);
  world.Step(JobDeleted{world.NextId(), {}, "j"});
  CHECK(world.Last<Answer>().at(0).verdict == Verdict::kBusy);
  world.Step(JobStateSet{world.NextId(), {}, "j", JobState::kFailed});
  CHECK(world.Last<Answer>().at(0).verdict == Verdict::kAccepted);
  CHECK(world.durable().jobs.at("j").state == JobState::kFailed);
  world.Step(RunCancelled{world.NextId(), {}, run});
  world.Say(world.a, Discarded{run});
  world.Say(world.b, Discarded{run});
  const StreamId stream = world.Subscribe("j", Topic::kNotify);
  world.Step(JobDeleted{world.NextId(), {}, "j"});
  CHECK(world.Last<EndStream>().at(0).stream == stream);
  CHECK(world.durable().jobs.empty());
}

TEST_CASE("an open or close out of order is reported as a defect and ignored") {
  World world;
  world.Apply("j", MakeTable({{"a", {0}}}));
  world.Step(StreamClosed{500});
  CHECK(world.Last<ReportDefect>().size() == 1);
  CHECK(world.Last<EndStream>().empty());
  world.Step(StreamOpened{500, Topic::kNotify, {}, "j", "", ""});
  CHECK(world.Last<AttachStream>().at(0).stream == 500);
  world.Step(StreamOpened{500, Topic::kNotify, {}, "j", "", ""});
  CHECK(world.Last<ReportDefect>().size() == 1);
  CHECK(world.Last<AttachStream>().empty());
  world.Step(LinkClosed{600});
  CHECK(world.Last<ReportDefect>().size() == 1);
  CHECK(world.Last<EndLink>().empty());
  world.Step(LinkMessage{601, Discarded{1}});
  world.Step(LinkClosed{601});
  CHECK(world.Ever<ReportDefect>().size() == 3);
  CHECK(world.Last<EndLink>().at(0).link == 601);
}

TEST_CASE("node forget refuses a node that is attached or part of an open run") {
  TwoNodes world;
  const auto forget = [&](const std::string& node) {
    world.Step(NodeForgotten{world.NextId(), {}, node});
    return world.Last<Answer>().at(0);
  };
  CHECK(forget("zz").verdict == Verdict::kNotFound);
  CHECK_THAT(forget("a").text, Contains("is attached"));
  world.Started();
  world.Step(LinkClosed{world.a});
  CHECK_THAT(forget("a").text, Contains("open run"));
  world.Step(LinkClosed{world.b});
  world.Let(3'600'000);
  CHECK(forget("a").verdict == Verdict::kAccepted);
  CHECK_FALSE(world.durable().nodes.contains("a"));
  CHECK(world.durable().leases.size() == 2);
}
