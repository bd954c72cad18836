// The control loop, its registries and the fan-out, with fake streams and a store in memory.
// Without gRPC; also run under the thread sanitizer.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/control_loop.h"
#include "tests/control/doubles.h"

namespace assay::control {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Records events in order; WaitFor waits for one.
class Diary {
 public:
  void Write(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(line);
    changed_.notify_all();
  }
  bool WaitFor(const std::string& line, std::size_t times = 1) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return CountLocked(line) >= times; });
  }
  std::size_t Count(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return CountLocked(line);
  }
  std::vector<std::string> lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  std::size_t CountLocked(const std::string& line) const {
    return static_cast<std::size_t>(std::count(lines_.begin(), lines_.end(), line));
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// Stores jobs in memory, records commits in the diary, and fails on demand.
class MemoryStorage final : public store::Storage {
 public:
  explicit MemoryStorage(Diary* diary) : diary_(diary) {}
  base::Status Commit(const std::vector<core::Record>& records) override {
    if (broken) return base::UnavailableError("disk full");
    for (const core::Record& record : records) {
      if (const auto* put = std::get_if<core::PutJob>(&record))
        durable_.jobs[put->job.spec.id] = put->job;
      if (const auto* event = std::get_if<core::AddEvent>(&record))
        diary_->Write("event " + event->kind);
    }
    diary_->Write("committed");
    return base::Status::Ok();
  }
  base::Result<core::Durable> Load() override {
    if (broken) return base::UnavailableError("disk broken");
    return durable_;
  }
  void Idle() override { diary_->Write("idle"); }

  std::atomic<bool> broken{false};

 private:
  Diary* const diary_;
  core::Durable durable_;
};

// Ends like a reactor: posts done and deletes itself, on another thread than End's caller.
class TestStream final : public StreamPort {
 public:
  TestStream(Intake* intake, Admission&& admission, Diary* diary, std::string name)
      : intake_(*intake),
        admission_(std::move(admission)),
        diary_(*diary),
        name_(std::move(name)),
        id_(intake->NextId()) {}

  void Announce() override { diary_.Write(name_ + " announced"); }
  void NameRun(core::RunId) override {}
  bool Ready(std::size_t) override { return true; }
  bool Send(const Bytes&) override {
    diary_.Write(name_ + " sent");
    return room_;
  }
  void PostClosed() override {
    if (!posted_.exchange(true)) intake_.PostStreamClosed(id_);
  }
  void End(const base::Status& status) override {
    diary_.Write(name_ + " ended " + CodeName(status));
    std::thread([this] {
      const Admission admission = std::move(admission_);  // released last
      intake_.PostStreamDone(id_, posted_);
      delete this;
    }).detach();
  }

  void Open(core::Topic topic, const std::string& job) {
    core::StreamOpened opened;
    opened.stream = id_;
    opened.topic = topic;
    opened.job = job;
    intake_.PostStreamOpened(id_, this, std::move(opened));
  }
  void BeFull() { room_ = false; }

 private:
  ~TestStream() = default;
  Intake& intake_;
  Admission admission_;
  Diary& diary_;
  const std::string name_;
  const core::StreamId id_;
  std::atomic<bool> room_{true};
  std::atomic<bool> posted_{false};
};

class TestCall final : public PendingCall {
 public:
  TestCall(Intake* intake, Admission&& admission, Diary* diary, std::string name)
      : admission_(std::move(admission)),
        diary_(*diary),
        name_(std::move(name)),
        id_(intake->NextId()) {}
  void Answered(core::Answer&& answer) override { End(std::string(Name(answer.verdict))); }
  void Failed(const base::Status& status) override { End("failed " + CodeName(status)); }
  core::CallId id() const { return id_; }

 private:
  ~TestCall() = default;
  void End(const std::string& how) {
    diary_.Write(name_ + " " + how);
    const Admission admission = std::move(admission_);  // released last
    delete this;
  }
  Admission admission_;
  Diary& diary_;
  const std::string name_;
  const core::CallId id_;
};

class Bed {
 public:
  Bed()
      : storage(&diary), loop(core::Settings(), &intake, &fanout, &storage, [this](bool serving) {
          diary.Write(serving ? "serving" : "not serving");
        }) {
    REQUIRE(fanout.Start(2).ok());
    REQUIRE(loop.Load().ok());
    REQUIRE(loop.Start().ok());
  }
  ~Bed() { Stop(); }

  void Stop() {
    if (std::exchange(stopped_, true)) return;
    intake.BeginStop();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (intake.live_count() != 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(intake.live_count() == 0);
    intake.mailbox().Close();
    loop.Join();
    fanout.Stop();
  }

  TestStream* Stream(const std::string& name) {
    return new TestStream(&intake, intake.Admit({.kind = Admission::Kind::kStream}).value(), &diary,
                          name);
  }
  // Posts the call; the diary records its answer.
  void Apply(const std::string& name, const std::string& job) {
    auto* call = new TestCall(&intake, intake.Admit({}).value(), &diary, name);
    core::JobApplied event;
    event.call = call->id();
    event.spec.id = job;
    auto table = std::make_shared<rank_table::RankTable>();
    table->nodes.push_back({"node-a", {}});
    table->ranks.push_back({0, 0, 0});
    event.table = table;
    event.table_text = "{}";
    event.hccl = std::make_shared<const std::string>("{}");
    intake.PostCall(call->id(), call, std::move(event));
  }
  void Stress(const std::string& name, const std::string& job) {
    auto* call = new TestCall(&intake, intake.Admit({}).value(), &diary, name);
    core::StressRequested event;
    event.call = call->id();
    event.job = job;
    event.all_ops = {0};
    intake.PostCall(call->id(), call, std::move(event));
  }

  Diary diary;
  NoEncoder encoder;
  MemoryStorage storage;
  Intake intake{IntakeLimits()};
  Fanout fanout{&encoder};
  ControlLoop loop;

 private:
  bool stopped_ = false;
};

TEST_CASE("an answer is released after its commit") {
  Bed bed;
  bed.Apply("apply", "j");
  REQUIRE(bed.diary.WaitFor("apply accepted"));
  const std::vector<std::string> lines = bed.diary.lines();
  const auto committed = std::find(lines.begin(), lines.end(), "committed");
  const auto answered = std::find(lines.begin(), lines.end(), "apply accepted");
  CHECK(committed < answered);
}

TEST_CASE("a failed commit releases nothing and ends every stream; service resumes with the disk") {
  Bed bed;
  bed.Apply("first", "j");
  REQUIRE(bed.diary.WaitFor("first accepted"));
  bed.Stream("x")->Open(core::Topic::kNotify, "j");
  REQUIRE(bed.diary.WaitFor("x announced"));

  bed.storage.broken = true;
  bed.Apply("second", "k");
  const std::string unavailable = CodeName(base::UnavailableError(""));
  REQUIRE(bed.diary.WaitFor("second failed " + unavailable));
  REQUIRE(bed.diary.WaitFor("not serving"));
  REQUIRE(bed.diary.WaitFor("x ended " + unavailable));
  // A new stream is refused with the same status.
  bed.Stream("y")->Open(core::Topic::kNotify, "j");
  REQUIRE(bed.diary.WaitFor("y ended " + unavailable));
  bed.Stress("third", "j");
  REQUIRE(bed.diary.WaitFor("third failed " + unavailable));
  CHECK(bed.diary.Count("serving") == 0);

  bed.storage.broken = false;
  REQUIRE(bed.diary.WaitFor("serving"));
  CHECK(bed.diary.Count("event store_recovered") == 1);
  // The first job exists, the second does not.
  bed.Stream("z")->Open(core::Topic::kNotify, "j");
  REQUIRE(bed.diary.WaitFor("z announced"));
  bed.Stress("fourth", "j");
  REQUIRE(bed.diary.WaitFor("fourth accepted"));
  bed.Stress("fifth", "k");
  REQUIRE(bed.diary.WaitFor("fifth bad_parameter"));
}

TEST_CASE("a stream whose close arrives before its opening is ended and removed") {
  Bed bed;
  bed.Apply("apply", "j");
  REQUIRE(bed.diary.WaitFor("apply accepted"));
  TestStream* const stream = bed.Stream("x");
  stream->PostClosed();
  stream->Open(core::Topic::kNotify, "j");
  REQUIRE(bed.diary.WaitFor("x ended 0"));
  CHECK(bed.diary.Count("x announced") == 0);
}

TEST_CASE("a notify stream that does not read is ended; the others are not") {
  Bed bed;
  bed.Apply("apply", "j");
  REQUIRE(bed.diary.WaitFor("apply accepted"));
  TestStream* const full = bed.Stream("full");
  full->BeFull();
  full->Open(core::Topic::kNotify, "j");
  bed.Stream("other")->Open(core::Topic::kNotify, "j");
  REQUIRE(bed.diary.WaitFor("full announced"));
  REQUIRE(bed.diary.WaitFor("other announced"));
  bed.Stress("stress", "j");
  REQUIRE(bed.diary.WaitFor("stress accepted"));
  REQUIRE(bed.diary.WaitFor("full ended " + CodeName(base::ExhaustedError(""))));
  REQUIRE(bed.diary.WaitFor("other sent"));
  CHECK(bed.diary.Count("other ended 0") == 0);
}

TEST_CASE("many threads open and close streams: each is ended once") {
  constexpr int kThreads = 4;
  constexpr int kStreams = 200;
  Bed bed;
  bed.Apply("apply", "j");
  REQUIRE(bed.diary.WaitFor("apply accepted"));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&bed, t] {
      for (int i = 0; i < kStreams; ++i) {
        const std::string name = std::to_string(t) + "/" + std::to_string(i);
        auto admission = bed.intake.Admit({.kind = Admission::Kind::kStream});
        if (!admission.ok()) return;
        auto* stream = new TestStream(&bed.intake, std::move(*admission), &bed.diary, name);
        const core::Topic topic = i % 2 == 0 ? core::Topic::kNotify : core::Topic::kResult;
        if (i % 4 == 3) stream->PostClosed();
        // After Open only the loop may touch it; the stop ends those that were not closed.
        stream->Open(topic, i % 3 == 0 ? "unknown" : "j");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  bed.Stop();
  std::map<std::string, int> ends;
  for (const std::string& line : bed.diary.lines()) {
    if (line.find(" ended ") != std::string::npos) ++ends[line.substr(0, line.find(' '))];
  }
  CHECK(ends.size() == kThreads * kStreams);
  for (const auto& [name, count] : ends) CHECK(count == 1);
}

TEST_CASE("a call or stream that arrives after the stop is refused") {
  Bed bed;
  bed.Apply("apply", "j");
  REQUIRE(bed.diary.WaitFor("apply accepted"));
  bed.Stream("x")->Open(core::Topic::kNotify, "j");
  bed.Stop();
  CHECK(bed.diary.Count("x ended " + CodeName(base::UnavailableError(""))) == 1);
  CHECK(bed.intake.Admit({.kind = Admission::Kind::kStream}).status().code() ==
        base::Code::kUnavailable);
  CHECK(bed.intake.Admit({}).status().code() == base::Code::kUnavailable);
}

}  // namespace
}  // namespace assay::control
