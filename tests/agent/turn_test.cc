// The agent's turn with a scripted link, workers and spool.
#include "agent/turn.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/quiet.h"

namespace assay::agent {
namespace {

using core::node::CoordinatorSaid;
using core::node::LinkDown;
using core::node::LinkUp;
using core::node::NodeEvent;
using core::node::WorkerKey;

constexpr core::Ms kCommitTimeout = 10'000;

class FakeLink final : public LinkPort {
 public:
  void Send(const core::AgentMessage& message, core::Ms) override {
    if (stream_ != 0) sent.push_back(message);
  }
  void Consumed() override { ++consumed; }
  bool up() const override { return stream_ != 0; }
  std::uint64_t stream() const override { return stream_; }
  void Drop(const std::string&, std::vector<NodeEvent>* out) override {
    if (std::exchange(stream_, 0) != 0) out->emplace_back(LinkDown{});
    ++dropped;
  }
  void Close(core::Ms) override {
    stream_ = 0;
    closing = true;
  }
  bool closed() const override { return closing; }

  NodeEvent Up() {
    stream_ = ++last_;
    return LinkUp{};
  }
  NodeEvent Down() {
    stream_ = 0;
    return LinkDown{};
  }
  template <class Message>
  int Count() const {
    int count = 0;
    for (const core::AgentMessage& message : sent) {
      count += std::holds_alternative<Message>(message) ? 1 : 0;
    }
    return count;
  }
  std::vector<core::OutcomeReport> Reports() const {
    std::vector<core::OutcomeReport> reports;
    for (const core::AgentMessage& message : sent) {
      const auto* outcomes = std::get_if<core::Outcomes>(&message);
      if (outcomes == nullptr) continue;
      reports.insert(reports.end(), outcomes->reports.begin(), outcomes->reports.end());
    }
    return reports;
  }

  std::vector<core::AgentMessage> sent;
  int consumed = 0;
  int dropped = 0;
  bool closing = false;

 private:
  std::uint64_t stream_ = 0;
  std::uint64_t last_ = 0;
};

class FakeWorkers final : public WorkersPort {
 public:
  void Perform(const core::node::SpawnWorker& effect) override {
    Note("spawn", effect.worker);
    running.push_back(effect.worker);
  }
  void Perform(const core::node::RunAic& effect) override { Note("aic", effect.worker); }
  void Perform(const core::node::PrepareP2p& effect) override { Note("prepare", effect.worker); }
  void Perform(const core::node::RunP2p& effect) override { Note("p2p", effect.worker); }
  void Perform(const core::node::QuitWorker& effect) override {
    Note("quit", effect.worker);
    Exit(effect.worker);
  }
  void Perform(const core::node::KillWorker& effect) override {
    Note("kill", effect.worker);
    Exit(effect.worker);
  }
  void Perform(const core::node::MakeSafe& effect, core::Ms) override {
    Note("safe", effect.worker);
    events.emplace_back(core::node::DeviceSafe{effect.worker, false, ""});
  }
  void Collect(core::Ms, std::vector<NodeEvent>* out) override {
    out->insert(out->end(), events.begin(), events.end());
    events.clear();
  }
  core::Ms NextDeadline(core::Ms now) const override { return events.empty() ? now + 1'000 : now; }
  bool empty() const override { return running.empty() && events.empty() && !stuck; }
  void KillAll() override {
    done.emplace_back("kill all");
    running.clear();
    events.clear();
  }

  bool Did(const std::string& what) const {
    return std::find(done.begin(), done.end(), what) != done.end();
  }

  std::vector<std::string> done;
  std::vector<NodeEvent> events;
  std::vector<WorkerKey> running;
  bool stuck = false;  // a killed process does not exit

 private:
  void Note(const std::string& what, const WorkerKey& key) {
    done.push_back(what + " " + std::to_string(key.run) + "/" + std::to_string(key.rank));
  }
  void Exit(const WorkerKey& key) {
    std::erase(running, key);
    events.emplace_back(core::node::WorkerGone{key, "exit status 0"});
  }
};

class FakeSpool final : public SpoolPort {
 public:
  base::Status Commit(const std::vector<core::node::SpoolRecord>& records) override {
    ++commits;
    if (fails) return base::UnavailableError("disk full");
    for (const core::node::SpoolRecord& record : records) core::node::Apply(record, &stored);
    return base::Status::Ok();
  }
  base::Result<core::node::Spooled> Load() override {
    if (fails) return base::UnavailableError("disk full");
    return stored;
  }

  core::node::Spooled stored;
  bool fails = false;
  int commits = 0;
};

// Node n1 with devices 0 and 1.
core::Node Self() {
  core::Node self;
  self.name = "n1";
  self.identity = "id";
  for (const std::int32_t device : {0, 1}) self.devices.push_back({device, "sim", ""});
  return self;
}

struct Rig {
  Rig() { Do({}); }
  // One turn `later` ms after the last.
  void Do(std::vector<NodeEvent> events, core::Ms later = 1) {
    now += later;
    turn.Step(std::move(events), now);
    turn.Release(now);
  }
  // Turns at every deadline until `end`.
  void Until(core::Ms end) {
    while (turn.NextDeadline(now) <= end) {
      const core::Ms due = turn.NextDeadline(now);
      Do({}, std::max<core::Ms>(due - now, 1));
    }
    now = std::max(now, end);
  }
  void Worker(NodeEvent event) { workers.events.push_back(std::move(event)); }
  // Run 1: rank 7 on device 0, aic, under way.
  void StartRun() {
    Do({link.Up(), CoordinatorSaid{core::Welcome{}}});
    Do({CoordinatorSaid{Assignment(1, 7, 0)}});
    Worker(core::node::WorkerOpened{{1, 7}});
    Do({});
    Do({CoordinatorSaid{core::Start{1}}});
    REQUIRE(workers.Did("aic 1/7"));
  }
  static core::Assign Assignment(core::RunId run, std::int32_t rank, std::int32_t device) {
    core::Assign assign;
    assign.run = run;
    assign.job = "job";
    assign.ranks.push_back({rank, device, core::OpSet(1)});
    assign.aic_deadline = 60'000;
    assign.p2p_deadline = 60'000;
    assign.kill_grace = 1'000;
    return assign;
  }

  support::Quiet quiet;
  FakeLink link;
  FakeWorkers workers;
  FakeSpool spool;
  core::Ms now = 1'000'000;
  Turn turn{kCommitTimeout, Self(), {}, &link, &workers, &spool};
};

TEST_CASE("no effect leaves before its records are committed") {
  Rig rig;
  rig.Do({rig.link.Up()});
  rig.spool.fails = true;
  rig.Do({CoordinatorSaid{Rig::Assignment(1, 7, 0)}});
  rig.Until(rig.now + 2'000);
  CHECK(rig.workers.done.empty());
  CHECK(rig.spool.commits > 2);
  CHECK_FALSE(rig.turn.serving());
  CHECK_FALSE(rig.turn.takes_workers());
  rig.spool.fails = false;
  rig.Until(rig.now + 2'000);
  CHECK(rig.turn.serving());
  CHECK(rig.workers.done == std::vector<std::string>{"spawn 1/7"});
  CHECK(rig.spool.stored.count(1) == 1);
}

TEST_CASE("a commit is retried in growing intervals, whatever arrives meanwhile") {
  Rig rig;
  rig.Do({rig.link.Up()});
  rig.spool.fails = true;
  rig.Do({CoordinatorSaid{Rig::Assignment(1, 7, 0)}});
  CHECK(rig.spool.commits == 1);
  CHECK(rig.turn.NextDeadline(rig.now) == rig.now + 50);
  rig.Do({});
  rig.Do({});
  CHECK(rig.spool.commits == 1);
  rig.Do({}, 48);
  CHECK(rig.spool.commits == 2);
  CHECK(rig.turn.NextDeadline(rig.now) == rig.now + 100);
}

TEST_CASE("what arrives while a commit fails is stepped after it, in order") {
  Rig rig;
  rig.StartRun();
  const int consumed = rig.link.consumed;
  rig.spool.fails = true;
  rig.Do({CoordinatorSaid{Rig::Assignment(2, 8, 1)}});
  rig.Do({CoordinatorSaid{Rig::Assignment(3, 9, 1)}});
  rig.Worker(core::node::WorkerOpDone{{1, 7}, core::Op::kAic, core::OutcomeCode::kOk, "fine"});
  rig.Until(rig.now + 1'000);
  CHECK(rig.workers.events.size() == 1);  // left with the workers
  CHECK(rig.link.consumed == consumed);   // and the coordinator is held back
  CHECK(rig.link.Reports().empty());
  rig.spool.fails = false;
  rig.Until(rig.now + 2'000);
  CHECK(rig.workers.Did("spawn 2/8"));
  CHECK_FALSE(rig.workers.Did("spawn 3/9"));  // its device is held by run 2
  CHECK(rig.link.consumed > consumed);
  std::vector<std::string> details;
  for (const core::OutcomeReport& report : rig.link.Reports()) details.push_back(report.detail);
  CHECK(std::find(details.begin(), details.end(), "fine") != details.end());
  CHECK(std::find(details.begin(), details.end(), "device 1 is held by run 2") != details.end());
}

TEST_CASE("messages of a batch are not sent to a later stream") {
  Rig rig;
  rig.StartRun();
  rig.link.sent.clear();
  rig.spool.fails = true;
  rig.Worker(core::node::WorkerOpDone{{1, 7}, core::Op::kAic, core::OutcomeCode::kOk, "fine"});
  rig.Do({});
  rig.Do({rig.link.Down()});
  rig.Do({rig.link.Up()});
  rig.spool.fails = false;
  rig.Until(rig.now + 2'000);
  // The first message of the new stream is its hello.
  REQUIRE_FALSE(rig.link.sent.empty());
  CHECK(std::holds_alternative<core::Hello>(rig.link.sent.front()));
  CHECK(rig.link.Reports().size() == 1);
}

TEST_CASE("the supervisor's deadlines are kept without any event") {
  Rig rig;
  rig.StartRun();
  rig.Until(rig.now + 120'000);
  CHECK(rig.workers.Did("kill 1/7"));
  CHECK(rig.workers.Did("safe 1/7"));
  REQUIRE_FALSE(rig.link.Reports().empty());
  CHECK(rig.link.Reports().front().code == core::OutcomeCode::kTimeout);
}

TEST_CASE("after commit_timeout the tests are killed and the run goes on from the spool") {
  Rig rig;
  rig.StartRun();
  rig.link.sent.clear();
  rig.spool.fails = true;
  rig.Do({CoordinatorSaid{Rig::Assignment(2, 8, 1)}});
  rig.Until(rig.now + kCommitTimeout + 600);
  // The run that could not be stored is refused on the stream, which has time to send it.
  REQUIRE(rig.link.Reports().size() == 1);
  CHECK(rig.link.Reports()[0].run == 2);
  CHECK(rig.link.Reports()[0].code == core::OutcomeCode::kNotRun);
  CHECK(rig.link.Reports()[0].detail == "the agent's state cannot be stored: disk full");
  CHECK(rig.workers.Did("kill all"));
  rig.Until(rig.now + 1'000);
  CHECK(rig.link.dropped == 1);
  CHECK_FALSE(rig.turn.serving());
  rig.spool.fails = false;
  rig.Do({rig.link.Up()}, 2'000);
  rig.Until(rig.now + 2'000);
  CHECK(rig.turn.serving());
  CHECK(rig.workers.Did("safe 1/7"));
  REQUIRE(rig.link.Reports().size() == 2);
  CHECK(rig.link.Reports()[1].run == 1);
  CHECK(rig.link.Reports()[1].detail == "agent restarted during the test");
}

TEST_CASE("a stream that comes up before the spool can be loaded gets its hello") {
  Rig rig;
  rig.StartRun();
  rig.spool.fails = true;
  rig.Worker(core::node::WorkerOpDone{{1, 7}, core::Op::kAic, core::OutcomeCode::kOk, "fine"});
  rig.Until(rig.now + kCommitTimeout + 2'000);
  REQUIRE(rig.link.dropped == 1);
  rig.link.sent.clear();
  rig.Do({rig.link.Up()});
  rig.Until(rig.now + 5'000);
  CHECK(rig.link.sent.empty());
  rig.spool.fails = false;
  rig.Until(rig.now + 2'000);
  CHECK(rig.link.Count<core::Hello>() == 1);
}

TEST_CASE("a killed process that does not exit delays the restart by a bounded time") {
  Rig rig;
  rig.StartRun();
  rig.workers.stuck = true;
  rig.spool.fails = true;
  rig.Worker(core::node::WorkerOpDone{{1, 7}, core::Op::kAic, core::OutcomeCode::kOk, "fine"});
  rig.Until(rig.now + kCommitTimeout + 2'000);
  rig.spool.fails = false;
  rig.Until(rig.now + 5'000);
  CHECK(rig.link.dropped == 0);
  CHECK(rig.turn.takes_workers());  // to reap them
  rig.Until(rig.now + 10'000);
  CHECK(rig.link.dropped == 1);
  CHECK(rig.turn.serving());
}

TEST_CASE("a stop waits for the op and its acknowledgement, then closes the link") {
  Rig rig;
  rig.StartRun();
  rig.turn.RequestStop(60'000);
  CHECK(rig.turn.NextDeadline(rig.now) == rig.now);
  rig.Do({});
  CHECK_FALSE(rig.turn.finished());
  rig.Worker(core::node::WorkerOpDone{{1, 7}, core::Op::kAic, core::OutcomeCode::kOk, "fine"});
  rig.Until(rig.now + 100);
  CHECK(rig.link.Reports().size() == 1);
  CHECK_FALSE(rig.turn.finished());
  rig.Do({CoordinatorSaid{core::Ack{{{1, 7, core::Op::kAic}}}}});
  rig.Until(rig.now + 10);
  CHECK(rig.turn.finished());
  CHECK(rig.link.closing);
}

TEST_CASE("a forced stop kills the worker and makes its device safe") {
  Rig rig;
  rig.StartRun();
  rig.turn.RequestStop(60'000);
  rig.turn.ForceStop();
  rig.Until(rig.now + 100);
  CHECK(rig.workers.Did("kill 1/7"));
  CHECK(rig.workers.Did("safe 1/7"));
  REQUIRE(rig.link.Reports().size() == 1);
  CHECK(rig.link.Reports()[0].detail == "agent stopped during the test");
  // Without an acknowledgement it leaves after a while.
  rig.Until(rig.now + 3'100);
  CHECK(rig.turn.finished());
}

TEST_CASE("a stop ends a turn whose commits fail") {
  Rig idle;
  idle.Do({idle.link.Up()});
  idle.spool.fails = true;
  idle.Do({CoordinatorSaid{Rig::Assignment(1, 7, 0)}});
  idle.turn.RequestStop(600'000);
  idle.Until(idle.now + 1'000);
  CHECK(idle.turn.finished());

  // With a test under way only a forced stop does before commit_timeout.
  Rig busy;
  busy.StartRun();
  busy.spool.fails = true;
  busy.Do({CoordinatorSaid{Rig::Assignment(2, 8, 1)}});
  busy.turn.RequestStop(600'000);
  busy.Until(busy.now + 1'000);
  CHECK_FALSE(busy.turn.finished());
  busy.turn.ForceStop();
  busy.Until(busy.now + 1'000);
  CHECK(busy.turn.finished());
  CHECK(busy.workers.Did("kill all"));
}

}  // namespace
}  // namespace assay::agent
