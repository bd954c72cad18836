// The fan-out of job signals: its cost, which streams are ended, and streams on many threads (also
// run under the thread sanitizer).
#include "control/board_fanout.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lockfree/outbox.h"
#include "lockfree/queue.h"
#include "tests/control/board_streams.h"

namespace assay::control {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// Accepts `room` messages, then has no room until MakeRoom.
class CountingStream final : public StreamPort {
 public:
  CountingStream(core::StreamId number, std::size_t room) : id(number), room_(room) {}
  void Announce() override { announced = true; }
  void NameRun(core::RunId) override {}
  bool Ready(std::size_t) override {
    ++asked;
    return sent.size() < room_;
  }
  bool Send(const Bytes& bytes) override {
    sent.push_back(AsMessage(bytes));
    return true;
  }
  void PostClosed() override { closed = true; }
  void End(const base::Status& status) override { ended.push_back(status); }
  void MakeRoom(std::size_t room) { room_ = room; }

  const core::StreamId id;
  bool announced = false;
  bool closed = false;
  std::size_t asked = 0;
  std::vector<FakeMessage> sent;
  std::vector<base::Status> ended;

 private:
  std::size_t room_;
};

// A board whose entries are handled on the test's own thread.
struct Rig {
  explicit Rig(std::size_t signal_bytes = 100) : encoder(signal_bytes) {}
  void Attach(CountingStream* stream, core::Topic topic = core::Topic::kSignal) {
    board->Post(AttachEntry{stream->id, stream, topic});
    pool.RunHere();
  }
  void Change(const std::string& job, bool deleted = false) {
    board->Post(SignalEntry{MakeSignal(job, ++change, deleted)});
    pool.RunHere();
  }
  void Forget(const std::string& job) {
    board->Post(ForgetEntry{job});
    pool.RunHere();
  }
  FakeEncoder encoder;
  lockfree::FanoutPool pool;
  std::shared_ptr<BoardFanout> board = std::make_shared<BoardFanout>(&pool.ready(), &encoder);
  std::uint64_t change = 0;
};

constexpr std::size_t kAll = 1'000'000;

TEST_CASE("each change is serialised once for all; a waiting subscriber costs nothing per change") {
  Rig rig;
  std::vector<std::unique_ptr<CountingStream>> streams;
  for (core::StreamId id = 1; id <= 20; ++id) {
    streams.push_back(std::make_unique<CountingStream>(id, id % 4 == 0 ? 3 : kAll));
    rig.Attach(streams.back().get(), id % 2 == 0 ? core::Topic::kSignalList : core::Topic::kSignal);
    CHECK(streams.back()->announced);
  }
  for (int i = 0; i < 100; ++i) rig.Change("job-" + std::to_string(i % 7));
  CHECK(rig.encoder.encoded == 100);
  for (const auto& stream : streams) {
    const bool waits = stream->id % 4 == 0;
    CHECK(stream->sent.size() == (waits ? 3 : 100));
    // Called for each message, and once when there was no room.
    CHECK(stream->asked == (waits ? 4 : 100));
  }
  // All got the same bytes of the same change.
  CHECK(streams[0]->sent[42].uuids == streams[1]->sent[42].uuids);
  CHECK(streams[0]->sent[42].uuids != streams[0]->sent[43].uuids);
  // With room again, waiting streams get the newest signal of each job, from the same bytes.
  for (const auto& stream : streams) {
    stream->MakeRoom(kAll);
    rig.board->StreamHasRoom(stream->id);
    rig.board->StreamHasRoom(999);  // no such stream
  }
  rig.pool.RunHere();
  for (const auto& stream : streams) {
    CHECK(stream->sent.size() == (stream->id % 4 == 0 ? 3 + 7 : 100));
    CHECK(stream->sent.back().signals[0]->change == 100);
  }
  CHECK(rig.encoder.encoded == 100);
}

TEST_CASE("a snapshot of thousands of jobs is sent in pages, complete and unchanged") {
  Rig rig(4000);  // about a thousand signals per page
  constexpr std::size_t kJobs = 5000;
  for (std::size_t j = 0; j < kJobs; ++j) rig.Change("job-" + std::to_string(j));
  CountingStream stream(1, 2);
  rig.Attach(&stream, core::Topic::kSignalList);
  CHECK(stream.sent.size() == 2);
  rig.Change("job-0", true);
  rig.Change("job-4999");
  stream.MakeRoom(kAll);
  rig.board->StreamHasRoom(1);
  rig.pool.RunHere();
  std::size_t of_snapshot = 0;
  std::size_t pages = 0;
  for (; of_snapshot < kJobs; ++pages) {
    REQUIRE(pages < stream.sent.size());
    const FakeMessage& page = stream.sent[pages];
    CHECK(page.total == kJobs);
    CHECK(page.report_time == stream.sent[0].report_time);
    CHECK(page.signals.size() * 4000 <= kMessageBytesMax);
    for (const core::SignalPtr& signal : page.signals) CHECK(signal->change == ++of_snapshot);
  }
  CHECK(pages == 5);
  REQUIRE(stream.sent.size() == pages + 2);
  CHECK(stream.sent[pages].signals[0]->deleted);
  CHECK(stream.sent[pages].total == 1);
  CHECK(stream.sent[pages + 1].signals[0]->change == kJobs + 2);
}

TEST_CASE("a list subscriber gets no page while there are no jobs") {
  Rig rig;
  CountingStream stream(1, kAll);
  rig.Attach(&stream, core::Topic::kSignalList);
  CHECK(stream.announced);
  CHECK(stream.sent.empty());
  rig.Change("a");
  REQUIRE(stream.sent.size() == 1);
  CHECK(stream.sent[0].total == 1);
}

TEST_CASE("only streams that still lack a delete when it is forgotten are ended") {
  Rig rig;
  rig.Change("a");
  CountingStream reads(1, kAll);
  CountingStream owed(2, 1);
  CountingStream owed_list(3, 1);
  rig.Attach(&reads);
  rig.Attach(&owed);
  rig.Attach(&owed_list, core::Topic::kSignalList);
  rig.Change("b");
  rig.Change("a", true);
  CountingStream late(4, 0);
  rig.Attach(&late);
  rig.Forget("b");  // job b is present
  rig.Forget("a");
  CHECK(reads.ended.empty());
  CHECK(late.ended.empty());
  for (CountingStream* stream : {&owed, &owed_list}) {
    REQUIRE(stream->ended.size() == 1);
    CHECK(stream->ended[0].code() == base::Code::kExhausted);
    CHECK(stream->closed);
    rig.board->StreamHasRoom(stream->id);
  }
  late.MakeRoom(kAll);
  rig.board->StreamHasRoom(4);
  rig.pool.RunHere();
  REQUIRE(late.sent.size() == 1);
  CHECK(late.sent[0].signals[0]->job.id == "b");
}

TEST_CASE("a stream that reads gets a delete before it is forgotten and is not ended") {
  Rig rig;
  CountingStream stream(1, kAll);
  rig.Attach(&stream);
  for (int i = 0; i < 400; ++i) {
    rig.board->Post(SignalEntry{MakeSignal("a", ++rig.change, i % 2 == 1)});
    if (i % 100 == 99) rig.board->Post(ForgetEntry{"a"});
  }
  rig.pool.RunHere();
  CHECK(stream.ended.empty());
  CHECK(stream.sent.back().signals[0]->change == 400);
}

TEST_CASE("streams are ended once, one by one or all at once; EndAll clears the board") {
  Rig rig;
  rig.Change("a");
  CountingStream one(1, kAll);
  CountingStream two(2, kAll);
  CountingStream waits(3, 0);
  for (CountingStream* stream : {&one, &two, &waits}) rig.Attach(stream);
  rig.board->Post(EndEntry{1, std::make_shared<const base::Status>(base::ReplacedError("newer"))});
  rig.board->Post(EndEntry{99, std::make_shared<const base::Status>()});
  rig.Change("b");
  REQUIRE(one.ended.size() == 1);
  CHECK(one.ended[0].code() == base::Code::kReplaced);
  CHECK(one.sent.size() == 1);
  CHECK(two.sent.size() == 2);
  rig.board->Post(
      EndAllEntry{std::make_shared<const base::Status>(base::UnavailableError("disk"))});
  rig.pool.RunHere();
  CHECK(one.ended.size() == 1);
  CHECK(two.ended.size() == 1);
  CHECK(waits.ended.size() == 1);
  rig.change = 0;
  rig.Change("c");
  CountingStream later(4, kAll);
  rig.Attach(&later);
  REQUIRE(later.sent.size() == 1);
  CHECK(later.sent[0].signals[0]->job.id == "c");
  CHECK(later.sent[0].uuids != two.sent[0].uuids);
}

TEST_CASE("changes that arrive faster than they can be written are conflated on the board") {
  Rig rig;
  CountingStream stream(1, kAll);
  rig.Attach(&stream);
  constexpr std::size_t kChanges = 5000;
  for (std::size_t i = 0; i < kChanges; ++i) {
    rig.board->Post(SignalEntry{MakeSignal("job-" + std::to_string(i % 3), ++rig.change, false)});
  }
  rig.pool.RunHere();
  CHECK(stream.sent.size() < 300);
  CHECK(stream.sent.back().signals[0]->change == kChanges);
  CHECK(rig.board->Depth() == 0);
}

// --- Many threads ---

class ThreadStream;

// Completes writes on its own threads, those of one stream on varying threads, some streams slowly.
class Transport {
 public:
  Transport() {
    for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this, i] { Work(i); });
  }
  ~Transport() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  void Start(ThreadStream* stream) {
    writes_[next_.fetch_add(1, std::memory_order_relaxed) % kThreads].enqueue(stream);
  }

 private:
  static constexpr std::size_t kThreads = 3;
  void Work(std::size_t self);

  std::array<moodycamel::ConcurrentQueue<ThreadStream*, lockfree::SmallQueueTraits>, kThreads>
      writes_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

class ThreadStream final : public StreamPort {
 public:
  ThreadStream(core::StreamId number, std::shared_ptr<BoardFanout> board, Transport* transport)
      : id(number), board_(std::move(board)), transport_(*transport) {}

  void Announce() override {}
  void NameRun(core::RunId) override {}
  bool Ready(std::size_t) override {
    if (waiting_.load(std::memory_order_relaxed) < kWaitingMax && !box_.Full()) return true;
    return !box_.WaitForRoom();
  }
  bool Send(const Bytes& bytes) override {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    const lockfree::PushResult result = box_.Push(Bytes(bytes));
    if (result == lockfree::PushResult::kFull) ++refused;
    if (result == lockfree::PushResult::kStartPump) box_.Pump(this);
    return result != lockfree::PushResult::kFull;
  }
  void PostClosed() override {}
  void End(const base::Status& status) override {
    if (box_.PushFinal(base::Status(status)) == lockfree::PushResult::kStartPump) box_.Pump(this);
  }

  // Called by the pump.
  void Write(const Bytes& bytes) {
    for (const core::SignalPtr& signal : AsMessage(bytes).signals) seen.push_back(signal);
    const std::uint64_t change = seen.back()->change;
    callbacks_.fetch_add(1, std::memory_order_relaxed);
    newest.store(change, std::memory_order_relaxed);
    transport_.Start(this);
  }
  void Finish(const base::Status&) { MaybeDone(); }
  void Room() { board_->StreamHasRoom(id); }
  void OnWriteDone() {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    box_.WriteDone(true, this);
    MaybeDone();
  }

  const core::StreamId id;
  std::vector<core::SignalPtr> seen;    // read by the test once `gone`
  std::atomic<std::size_t> refused{0};  // Send failed after Ready
  std::atomic<std::uint64_t> newest{0};
  std::atomic<bool> gone{false};

 private:
  static constexpr std::size_t kWaitingMax = 5;
  void MaybeDone() {
    if (callbacks_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      gone.store(true, std::memory_order_release);
    }
  }

  const std::shared_ptr<BoardFanout> board_;
  Transport& transport_;
  lockfree::Outbox<Bytes, base::Status> box_{8};
  std::atomic<std::size_t> waiting_{0};
  std::atomic<int> callbacks_{1};  // outstanding, the Finish included
};

void Transport::Work(std::size_t self) {
  ThreadStream* stream = nullptr;
  std::uint64_t turn = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!writes_[self].try_dequeue(stream)) {
      std::this_thread::yield();
    } else if (stream->id % 4 == 0 && ++turn % 16 != 0) {
      writes_[self].enqueue(stream);  // a slow stream
      std::this_thread::yield();
    } else {
      stream->OnWriteDone();
    }
  }
}

bool Eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST_CASE("streams on many threads: changes arrive in order, to the final state; each ends once") {
  FakeEncoder encoder(100);
  lockfree::FanoutPool pool;
  REQUIRE(pool.Start(2).ok());
  Transport transport;
  const auto board = std::make_shared<BoardFanout>(&pool.ready(), &encoder);
  std::vector<std::unique_ptr<ThreadStream>> streams;
  std::map<std::string, std::uint64_t> truth;  // the last change of each job
  std::uint64_t change = 0;
  constexpr std::uint64_t kChanges = 3000;
  const auto attach = [&] {
    streams.push_back(std::make_unique<ThreadStream>(streams.size() + 1, board, &transport));
    board->Post(
        AttachEntry{streams.back()->id, streams.back().get(),
                    streams.size() % 3 == 0 ? core::Topic::kSignalList : core::Topic::kSignal});
  };
  for (int i = 0; i < 12; ++i) attach();
  while (change < kChanges) {
    const std::string job = "job-" + std::to_string(change * 7 % 31);
    truth[job] = ++change;
    board->Post(SignalEntry{MakeSignal(job, change, change % 5 == 0)});
    if (change % 200 == 0) attach();
    // Some streams are ended meanwhile.
    if (change % 500 == 0) {
      board->Post(EndEntry{streams.size() - 5, std::make_shared<const base::Status>()});
    }
    if (change % 64 == 0) std::this_thread::yield();
  }
  std::vector<bool> stayed;
  for (const auto& stream : streams) {
    bool left = false;
    for (std::uint64_t at = 500; at <= kChanges; at += 500) {
      left = left || stream->id == 12 + at / 200 - 5;
    }
    stayed.push_back(!left);
    if (!left) {
      CAPTURE(stream->id, stream->newest.load());
      CHECK(Eventually([&] { return stream->newest == kChanges; }));
    }
    board->Post(EndEntry{stream->id, std::make_shared<const base::Status>()});
  }
  for (const auto& stream : streams) REQUIRE(Eventually([&] { return stream->gone.load(); }));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    CAPTURE(i);
    CHECK(streams[i]->refused == 0);
    std::map<std::string, std::uint64_t> seen;
    bool in_order = true;
    for (const core::SignalPtr& signal : streams[i]->seen) {
      std::uint64_t& last = seen[signal->job.id];
      in_order = in_order && signal->change > last;
      last = signal->change;
    }
    CHECK(in_order);
    if (stayed[i]) CHECK(seen == truth);
  }
  pool.Stop();
}

}  // namespace
}  // namespace assay::control
