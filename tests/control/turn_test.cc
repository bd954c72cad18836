// The turn, one thread and a manual clock: batches of items against a store in memory, with fake
// calls, streams and links.
#include "control/turn.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/intake.h"
#include "tests/control/doubles.h"

namespace assay::control {
namespace {

using Lines = std::vector<std::string>;

const std::string kUnavailable = CodeName(base::UnavailableError(""));

class MemoryStorage final : public store::Storage {
 public:
  explicit MemoryStorage(Lines* lines) : lines_(*lines) {}
  base::Status Commit(const std::vector<core::Record>& records) override {
    if (broken) return base::UnavailableError("disk full");
    for (const core::Record& record : records) {
      if (const auto* job = std::get_if<core::PutJob>(&record))
        durable_.jobs[job->job.spec.id] = job->job;
      if (const auto* event = std::get_if<core::AddEvent>(&record))
        lines_.push_back("event " + event->kind);
    }
    lines_.push_back("committed");
    return base::Status::Ok();
  }
  base::Result<core::Durable> Load() override {
    if (broken) return base::UnavailableError("disk broken");
    return durable_;
  }
  void Idle() override {}

  bool broken = false;

 private:
  Lines& lines_;
  core::Durable durable_;
};

struct FakeCall final : PendingCall {
  FakeCall(Lines* log, std::string text) : lines(*log), name(std::move(text)) {}
  void Answered(core::Answer&& answer) override {
    lines.push_back(name + (answer.verdict == core::Verdict::kAccepted ? " answered" : " refused"));
  }
  void Failed(const base::Status& status) override {
    lines.push_back(name + " failed " + CodeName(status));
  }
  Lines& lines;
  const std::string name;
};

struct FakeStream final : StreamPort {
  FakeStream(Lines* log, std::string text) : lines(*log), name(std::move(text)) {}
  void Announce() override { lines.push_back(name + " announced"); }
  void NameRun(core::RunId) override {}
  bool Ready(std::size_t) override { return true; }
  bool Send(const Bytes&) override {
    lines.push_back(name + " sent");
    return true;
  }
  void PostClosed() override {}
  void End(const base::Status& status) override {
    lines.push_back(name + " ended " + CodeName(status));
  }
  Lines& lines;
  const std::string name;
};

struct FakeLink final : LinkPort {
  FakeLink(Lines* log, std::string text) : lines(*log), name(std::move(text)) {}
  void ReadNext() override { lines.push_back(name + " reads"); }
  core::Ms SilentFor() const override { return silent_for; }
  void Deliver(const core::CoordinatorMessage&) override { lines.push_back(name + " delivered"); }
  void End(const base::Status& status) override {
    lines.push_back(name + " ended " + CodeName(status));
  }
  Lines& lines;
  const std::string name;
  core::Ms silent_for = 0;
};

// Records the calls of a turn to its observer.
class Witness final : public TurnObserver {
 public:
  explicit Witness(Lines* lines) : lines_(*lines) {}
  void Loaded(const core::cluster::Cluster&) override { lines_.push_back("loaded"); }
  void BeforeStep(const core::Event& event, const core::cluster::Cluster&) override {
    if (std::holds_alternative<core::Ticked>(event)) ++ticks;
    if (std::holds_alternative<core::StreamOpened>(event)) lines_.push_back("core: opened");
    if (std::holds_alternative<core::StreamClosed>(event)) lines_.push_back("core: closed");
    if (std::holds_alternative<core::LinkMessage>(event)) lines_.push_back("core: message");
    if (std::holds_alternative<core::LinkClosed>(event)) lines_.push_back("core: link closed");
  }
  void AfterStep(const core::Event&, const core::Output&, std::size_t, std::size_t,
                 const core::cluster::Cluster&) override {}
  void BeforeRelease(const core::Effect&) override { lines_.push_back("release"); }

  int ticks = 0;

 private:
  Lines& lines_;
};

class Rig {
 public:
  Rig()
      : storage(&lines),
        witness(&lines),
        turn_(
            core::Settings(), &fanout_, &storage,
            [this](bool serving) { lines.push_back(serving ? "serving" : "not serving"); },
            &witness) {
    REQUIRE(turn_.Load(now).ok());
  }

  // Handles what was posted, after `ms` have passed.
  void Run(core::Ms ms = 0) {
    now += ms;
    std::vector<Inbound> items;
    intake.mailbox().Drain(&items, Turn::kItemsMax);
    turn_.Run(&items, now);
    fanout_.RunHere();
  }
  core::Ms NextDue() const { return turn_.NextDue(); }

  void Apply(const std::string& name, const std::string& job) {
    core::JobApplied event;
    event.call = intake.NextId();
    event.spec.id = job;
    auto table = std::make_shared<rank_table::RankTable>();
    table->nodes.push_back({"node-a", {}});
    table->ranks.push_back({0, 0, 0});
    event.table = table;
    event.table_text = "{}";
    event.hccl = std::make_shared<const std::string>("{}");
    calls_.push_back(std::make_unique<FakeCall>(&lines, name));
    intake.PostCall(event.call, calls_.back().get(), std::move(event));
  }
  core::StreamId Open(FakeStream* stream, const std::string& job) {
    const core::StreamId id = intake.NextId();
    Open(id, stream, job);
    return id;
  }
  void Open(core::StreamId id, FakeStream* stream, const std::string& job) {
    intake.PostStreamOpened(id, stream,
                            core::StreamOpened{id, core::Topic::kNotify, {}, job, "", ""});
  }
  // Opens a link and lets it say hello.
  core::LinkId Attach(FakeLink* link, const std::string& node) {
    const core::LinkId id = intake.NextId();
    intake.PostLinkOpened(id, link);
    core::Hello hello;
    hello.node.name = node;
    hello.node.identity = "id-" + node;
    intake.PostLinkMessage(id, {}, std::move(hello));
    return id;
  }

  std::ptrdiff_t Count(const std::string& line) const {
    return std::count(lines.begin(), lines.end(), line);
  }
  bool Before(const std::string& first, const std::string& second) const {
    const auto a = std::find(lines.begin(), lines.end(), first);
    const auto b = std::find(lines.begin(), lines.end(), second);
    return a < b && b != lines.end();
  }

  Lines lines;
  core::Ms now = 1'000'000;
  MemoryStorage storage;
  Witness witness;
  Intake intake{IntakeLimits()};

 private:
  NoEncoder encoder_;
  Fanout fanout_{&encoder_};
  Turn turn_;
  std::vector<std::unique_ptr<FakeCall>> calls_;
};

TEST_CASE("effects leave after the commit, and a failed commit releases none") {
  Rig rig;
  rig.Apply("first", "j");
  rig.Run();
  CHECK(rig.Before("committed", "release"));
  CHECK(rig.Before("release", "first answered"));

  FakeStream stream(&rig.lines, "x");
  rig.Open(&stream, "j");
  FakeLink link(&rig.lines, "link");
  rig.Attach(&link, "node-a");
  rig.Run();
  REQUIRE(rig.Count("x announced") == 1);

  rig.lines.clear();
  rig.storage.broken = true;
  rig.Apply("second", "k");
  rig.Run();
  CHECK(rig.Count("release") == 0);
  CHECK(rig.Count("second failed " + kUnavailable) == 1);
  CHECK(rig.Count("x ended " + kUnavailable) == 1);
  CHECK(rig.Count("link ended " + kUnavailable) == 1);
  CHECK(rig.Count("not serving") == 1);
}

TEST_CASE("an outage refuses everything and ends with a commit, tried once a second") {
  Rig rig;
  rig.storage.broken = true;
  rig.Apply("lost", "j");
  rig.Run();
  CHECK(rig.NextDue() == rig.now + Turn::kRetry);
  FakeStream stream(&rig.lines, "x");
  rig.Open(&stream, "j");
  FakeLink link(&rig.lines, "link");
  rig.intake.PostLinkOpened(rig.intake.NextId(), &link);
  rig.Apply("refused", "j");
  rig.Run(100);
  CHECK(rig.Count("x ended " + kUnavailable) == 1);
  CHECK(rig.Count("link ended " + kUnavailable) == 1);
  CHECK(rig.Count("refused failed " + kUnavailable) == 1);

  rig.Run(Turn::kRetry);  // still broken
  rig.storage.broken = false;
  rig.Run(Turn::kRetry - 1);
  CHECK(rig.Count("serving") == 0);
  rig.Run(1);
  CHECK(rig.Count("serving") == 1);
  CHECK(rig.Count("event store_recovered") == 1);
  rig.Apply("again", "j");
  rig.Run();
  CHECK(rig.Count("again answered") == 1);
}

TEST_CASE("a tick comes at least once a second under steady traffic") {
  Rig rig;
  rig.Apply("apply", "j");
  rig.Run();
  const int before = rig.witness.ticks;
  for (int i = 0; i < 30; ++i) {
    rig.Apply("again", "j");
    rig.Run(333);
  }
  CHECK(rig.witness.ticks - before >= 7);
  CHECK(rig.NextDue() <= rig.now + Turn::kTick);
}

TEST_CASE("an agent that is silent is lost although others are not") {
  Rig rig;
  FakeLink link(&rig.lines, "link");
  rig.Attach(&link, "node-a");
  rig.Run();
  const core::Ms limit = core::Settings().agent_timeout;
  for (core::Ms passed = 0; passed <= limit + 2 * Turn::kTick; passed += 333) {
    CHECK(rig.Count("core: link closed") == 0);
    link.silent_for = passed;
    rig.Apply("traffic", "j");
    rig.Run(333);
    if (rig.Count("link ended " + kUnavailable) == 1) break;
  }
  CHECK(rig.Count("core: link closed") == 1);
  CHECK(rig.Count("link ended " + kUnavailable) == 1);
}

TEST_CASE("a link reads on after the commit of what it said") {
  Rig rig;
  FakeLink link(&rig.lines, "link");
  const core::LinkId id = rig.Attach(&link, "node-a");
  rig.Run();
  CHECK(rig.Count("link reads") == 2);  // its first message, and the one after it
  CHECK(rig.lines.back() != "committed");
  for (int i = 0; i < 3; ++i) {
    rig.lines.clear();
    rig.intake.PostLinkMessage(id, {}, core::Discarded{7});
    rig.Run();
    CHECK(rig.Count("link reads") == 1);
  }
}

TEST_CASE("the core gets each open before its close, whatever overtakes what") {
  Rig rig;
  rig.Apply("apply", "j");
  rig.Run();
  rig.lines.clear();
  SECTION("opened, closed") {
    FakeStream stream(&rig.lines, "x");
    const core::StreamId id = rig.Open(&stream, "j");
    rig.intake.PostStreamClosed(id);
    rig.Run();
    rig.intake.PostStreamDone(id, true);
    rig.Run();
    CHECK(rig.Count("core: opened") == 1);
    CHECK(rig.Count("core: closed") == 1);
    CHECK(rig.Count("x ended 0") == 1);
  }
  SECTION("closed, opened") {
    FakeStream stream(&rig.lines, "x");
    const core::StreamId id = rig.intake.NextId();
    rig.intake.PostStreamClosed(id);
    rig.Run();
    rig.Open(id, &stream, "j");
    rig.Run();
    rig.intake.PostStreamDone(id, true);
    rig.Run();
    CHECK(rig.Count("core: opened") == 0);
    CHECK(rig.Count("core: closed") == 0);
    CHECK(rig.Count("x ended 0") == 1);
  }
  SECTION("opened, done, closed") {
    FakeStream stream(&rig.lines, "x");
    const core::StreamId id = rig.Open(&stream, "j");
    rig.Run();
    rig.intake.PostStreamDone(id, true);
    rig.Run();
    rig.intake.PostStreamClosed(id);
    rig.Run();
    CHECK(rig.Count("core: opened") == 1);
    CHECK(rig.Count("core: closed") == 1);
  }
  SECTION("a link closed, then its message") {
    FakeLink link(&rig.lines, "link");
    const core::LinkId id = rig.intake.NextId();
    rig.intake.PostLinkClosed(id, nullptr);
    rig.Run();
    rig.intake.PostLinkOpened(id, &link);
    rig.intake.PostLinkMessage(id, {}, core::Discarded{7});
    rig.Run();
    rig.intake.PostLinkDone(id, true);
    rig.Run();
    CHECK(rig.Count("core: message") == 0);
    CHECK(rig.Count("core: link closed") == 0);
    CHECK(rig.Count("link reads") == 0);
    CHECK(rig.Count("link ended 0") == 1);
  }
}

TEST_CASE("a stop stores the loss of every link, ends all, and refuses what comes later") {
  Rig rig;
  rig.Apply("apply", "j");
  FakeLink link(&rig.lines, "link");
  rig.Attach(&link, "node-a");
  rig.Run();
  FakeStream stream(&rig.lines, "x");
  rig.Open(&stream, "j");
  rig.Run();
  rig.lines.clear();
  rig.intake.BeginStop();
  rig.Apply("late", "k");
  rig.Run();
  CHECK(rig.Before("core: link closed", "committed"));
  CHECK(rig.Count("event node_lost") == 1);
  CHECK(rig.Count("link ended " + kUnavailable) == 1);
  CHECK(rig.Count("x ended " + kUnavailable) == 1);
  CHECK(rig.Count("late failed " + kUnavailable) == 1);
  // It waits for the last items without spinning.
  rig.Run(10 * Turn::kTick);
  CHECK(rig.NextDue() > rig.now);
}

}  // namespace
}  // namespace assay::control
