#include "lockfree/outbox.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lockfree/fanout_pool.h"
#include "lockfree/fanout_queue.h"
#include "tests/lockfree/items.h"

using namespace assay::lockfree;

namespace {

// A stream whose writes the test completes by calling Done.
struct ManualStream {
  explicit ManualStream(std::uint32_t capacity) : box(capacity) {}
  void Write(const std::shared_ptr<int>& message) {
    CHECK_FALSE(in_flight);
    in_flight = true;
    written.push_back(*message);
  }
  void Finish(const int& final) {
    CHECK_FALSE(in_flight);
    ends.push_back(final);
  }
  void Room() { ++rooms; }
  PushResult Push(int value) {
    const PushResult result = box.Push(std::make_shared<int>(value));
    if (result == PushResult::kStartPump) box.Pump(this);
    return result;
  }
  PushResult End(int value) {
    const PushResult result = box.PushFinal(std::move(value));
    if (result == PushResult::kStartPump) box.Pump(this);
    return result;
  }
  void Done(bool ok = true) {
    REQUIRE(in_flight);
    in_flight = false;
    box.WriteDone(ok, this);
  }

  Outbox<std::shared_ptr<int>, int> box;
  std::vector<int> written, ends;
  bool in_flight = false;
  int rooms = 0;
};

}  // namespace

TEST_CASE("outbox: one write at a time, in order, and the final entry once and last") {
  ManualStream stream(4);
  CHECK(stream.Push(1) == PushResult::kStartPump);
  CHECK(stream.Push(2) == PushResult::kQueued);
  CHECK(stream.written == std::vector<int>{1});
  stream.Done();
  CHECK(stream.written == std::vector<int>{1, 2});
  stream.Done();
  CHECK_FALSE(stream.in_flight);
  CHECK(stream.box.Depth() == 0);
  CHECK(stream.Push(3) == PushResult::kStartPump);
  CHECK(stream.End(100) == PushResult::kQueued);
  CHECK(stream.ends.empty());
  CHECK(stream.End(101) == PushResult::kClosed);
  CHECK(stream.Push(4) == PushResult::kClosed);
  stream.Done();
  CHECK(stream.written == std::vector<int>{1, 2, 3});
  CHECK(stream.ends == std::vector<int>{100});
}

TEST_CASE("outbox: the final entry alone starts the pump") {
  ManualStream stream(1);
  CHECK(stream.End(100) == PushResult::kStartPump);
  CHECK(stream.ends == std::vector<int>{100});
}

TEST_CASE("outbox: a full ring accepts the final entry and reports room once") {
  const std::uint32_t capacity = GENERATE(as<std::uint32_t>(), 1, 2, 4, 64);
  CAPTURE(capacity);
  ManualStream stream(capacity);
  const int n = static_cast<int>(capacity);
  for (int i = 0; i < n; ++i) CHECK(stream.Push(i) != PushResult::kFull);
  auto refused = std::make_shared<int>(-1);
  CHECK(stream.box.Push(std::move(refused)) == PushResult::kFull);
  CHECK(refused != nullptr);
  CHECK(stream.Push(-1) == PushResult::kFull);
  while (stream.box.Depth() > capacity / 2) {
    CHECK(stream.rooms == 0);
    stream.Done();
  }
  CHECK(stream.rooms == 1);
  while (stream.in_flight) stream.Done();
  CHECK(stream.rooms == 1);  // no push was refused since
  for (int i = 0; i < n; ++i) CHECK(stream.Push(n + i) != PushResult::kFull);
  CHECK(stream.End(100) == PushResult::kQueued);
  while (stream.in_flight) stream.Done();
  REQUIRE(stream.written.size() == 2 * capacity);
  for (int i = 0; i < 2 * n; ++i) CHECK(stream.written[static_cast<std::size_t>(i)] == i);
  CHECK(stream.ends == std::vector<int>{100});
}

TEST_CASE("outbox: WaitForRoom leads to one Room call, or returns false if the ring is empty") {
  ManualStream stream(8);
  CHECK_FALSE(stream.box.WaitForRoom());
  stream.Push(1);
  CHECK(stream.box.WaitForRoom());
  CHECK(stream.box.WaitForRoom());  // the second request adds no second report
  CHECK(stream.rooms == 0);
  stream.Done();
  CHECK(stream.rooms == 1);
  CHECK_FALSE(stream.box.WaitForRoom());
  CHECK(stream.rooms == 1);
  for (int i = 0; i < 6; ++i) stream.Push(i);
  CHECK_FALSE(stream.box.Full());
  CHECK(stream.box.WaitForRoom());
  stream.Done();
  CHECK(stream.rooms == 1);  // five wait: more than half of the ring
  stream.Done();
  CHECK(stream.rooms == 2);
  CHECK(stream.box.WaitForRoom());  // a filler that needs more room waits again
  stream.Done();
  CHECK(stream.rooms == 3);
  CHECK(stream.box.WaitForRoom());
  stream.Done(false);  // drops the remaining messages, which makes room, too
  CHECK(stream.rooms == 4);
  CHECK_FALSE(stream.box.WaitForRoom());
  CHECK(stream.Push(7) == PushResult::kClosed);
}

TEST_CASE("outbox: Full is true exactly while every slot is taken") {
  ManualStream stream(2);
  stream.Push(1);
  CHECK_FALSE(stream.box.Full());
  stream.Push(2);
  CHECK(stream.box.Full());
  stream.Done();
  CHECK_FALSE(stream.box.Full());
}

TEST_CASE("outbox: after a failed write only the final entry is written") {
  ManualStream stream(4);
  SECTION("the final entry was pushed before") {
    for (int i = 0; i < 4; ++i) stream.Push(i);
    stream.End(100);
    stream.Done(false);
  }
  SECTION("the final entry is pushed later") {
    for (int i = 0; i < 4; ++i) stream.Push(i);
    stream.Push(5);
    stream.Done(false);
    CHECK(stream.rooms == 1);
    CHECK(stream.ends.empty());
    CHECK(stream.Push(6) == PushResult::kClosed);
    CHECK(stream.End(100) == PushResult::kStartPump);
  }
  CHECK(stream.written == std::vector<int>{0});
  CHECK(stream.ends == std::vector<int>{100});
  CHECK(stream.End(100) == PushResult::kClosed);
}

TEST_CASE("outbox: a written message is released, and the rest with the outbox") {
  auto message = std::make_shared<int>(1);
  {
    ManualStream stream(8);
    CHECK(stream.box.Push(std::shared_ptr<int>(message)) == PushResult::kStartPump);
    CHECK(stream.box.Push(std::shared_ptr<int>(message)) == PushResult::kQueued);
    stream.box.Pump(&stream);
    CHECK(message.use_count() == 3);  // stays in the ring while it is being written
    stream.Done();
    CHECK(message.use_count() == 2);
  }
  CHECK(message.use_count() == 1);
}

// --- Streams, their jobs' queues, fan-out workers, and threads that behave like gRPC's ---

namespace {

struct Entry {
  enum Kind { kOpen, kSay, kRoom, kClose } kind = kOpen;
  std::size_t stream = 0;
};

struct Outcome {
  std::atomic<std::uint32_t> written{0};
  std::atomic<std::uint32_t> finished{0};
  std::atomic<std::uint32_t> gone{0};
  std::atomic<std::uint32_t> wrong{0};
};

class FakeStream;

// Completes writes on its own threads; the writes of one stream move between the threads.
class FakeTransport {
 public:
  FakeTransport();
  ~FakeTransport();
  void Start(FakeStream* stream) {
    writes_[next_.fetch_add(1, std::memory_order_relaxed) % kThreads].enqueue(stream);
  }

 private:
  static constexpr std::size_t kThreads = 3;
  void Work(std::size_t self);

  std::array<moodycamel::ConcurrentQueue<FakeStream*, TinyQueueTraits>, kThreads> writes_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

class JobQueue;

class FakeStream {
 public:
  FakeStream(std::size_t id, std::uint32_t capacity, std::uint32_t fails_at, JobQueue* job,
             FakeTransport* transport, Outcome* outcome)
      : box(capacity),
        id_(id),
        fails_at_(fails_at),
        job_(job),
        transport_(transport),
        outcome_(outcome) {}

  void Write(const Item& message) {
    if (in_flight_.exchange(true, std::memory_order_relaxed)) ++outcome_->wrong;
    if (!ledger_.Enter(message)) ++outcome_->wrong;
    callbacks_.fetch_add(1, std::memory_order_relaxed);
    transport_->Start(this);
  }
  void Finish(const std::uint64_t& final) {
    if (in_flight_.load(std::memory_order_relaxed) || final != id_) ++outcome_->wrong;
    ++outcome_->finished;
    MaybeDone();
  }
  void Room();

  void OnWriteDone() {  // on a thread of the transport
    const std::uint32_t written = ++outcome_->written;
    in_flight_.store(false, std::memory_order_relaxed);
    waiting.fetch_sub(1, std::memory_order_relaxed);
    box.WriteDone(written != fails_at_, this);
    MaybeDone();
  }

  Outbox<Item, std::uint64_t> box;
  // Used by the filler only.
  std::uint32_t said = 0;  // messages of the job so far
  std::uint32_t pushed = 0;
  bool starving = false;
  // Messages pushed and not written, for the filler's own limit, which is below the ring's.
  std::atomic<std::uint32_t> waiting{0};

 private:
  void MaybeDone() {
    if (callbacks_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    outcome_->gone.fetch_add(1, std::memory_order_release);
    delete this;
  }

  const std::size_t id_;
  const std::uint32_t fails_at_;
  JobQueue* const job_;
  FakeTransport* const transport_;
  Outcome* const outcome_;
  Ledger ledger_{1};
  std::atomic<bool> in_flight_{false};
  std::atomic<int> callbacks_{1};  // 1 for the Finish to come
};

FakeTransport::FakeTransport() {
  for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this, i] { Work(i); });
}

void FakeTransport::Work(std::size_t self) {
  FakeStream* stream = nullptr;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (writes_[self].try_dequeue(stream)) {
      stream->OnWriteDone();
    } else {
      std::this_thread::yield();
    }
  }
}

FakeTransport::~FakeTransport() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

struct JobParameters {
  std::size_t streams;
  std::uint32_t capacity;
  bool fails;
  std::uint32_t waiting_max;  // unwritten messages per stream; the ring may have room for more
};

class JobQueue : public FanoutQueue<Entry, FanoutPlatform<TinyQueueTraits>> {
 public:
  JobQueue(ReadyQueue* ready, JobParameters parameters, FakeTransport* transport)
      : FanoutQueue(ready),
        outcomes(parameters.streams),
        parameters_(parameters),
        transport_(transport),
        streams_(parameters.streams, nullptr) {}

  std::vector<Outcome> outcomes;

 private:
  void Handle(Entry&& entry) override {
    FakeStream*& stream = streams_[entry.stream];
    switch (entry.kind) {
      case Entry::kOpen:
        stream = new FakeStream(entry.stream, parameters_.capacity,
                                parameters_.fails ? static_cast<std::uint32_t>(entry.stream) : 0,
                                this, transport_, &outcomes[entry.stream]);
        break;
      case Entry::kSay:
        for (FakeStream* each : streams_) {
          if (each == nullptr) continue;
          ++each->said;
          PushWhatFits(each);
        }
        break;
      case Entry::kRoom:
        if (stream != nullptr) {
          if (!stream->starving) ++outcomes[entry.stream].wrong;  // room reported twice
          stream->starving = false;
          PushWhatFits(stream);
        }
        break;
      case Entry::kClose:
        closing_ = true;
        break;
    }
    if (!closing_) return;
    for (std::size_t id = 0; id < streams_.size(); ++id) EndIfAllSaid(id);
  }

  void PushWhatFits(FakeStream* stream) {
    while (!stream->starving && stream->pushed != stream->said) {
      if (stream->waiting.load(std::memory_order_relaxed) >= parameters_.waiting_max &&
          stream->box.WaitForRoom()) {
        stream->starving = true;
        return;
      }
      stream->waiting.fetch_add(1, std::memory_order_relaxed);
      const PushResult result = stream->box.Push(MakeItem(0, stream->pushed + 1));
      if (result == PushResult::kFull) {
        stream->waiting.fetch_sub(1, std::memory_order_relaxed);
        stream->starving = true;
        return;
      }
      ++stream->pushed;  // also for kClosed: the stream has failed
      if (result == PushResult::kStartPump) stream->box.Pump(stream);
    }
  }

  void EndIfAllSaid(std::size_t id) {
    FakeStream* stream = streams_[id];
    if (stream == nullptr || stream->pushed != stream->said) return;
    streams_[id] = nullptr;
    if (stream->box.PushFinal(std::uint64_t{id}) == PushResult::kStartPump) {
      stream->box.Pump(stream);
    }
  }

  const JobParameters parameters_;
  FakeTransport* const transport_;
  std::vector<FakeStream*> streams_;
  bool closing_ = false;
};

void FakeStream::Room() { job_->Post({Entry::kRoom, id_}); }

}  // namespace

TEST_CASE("outbox: many streams of several jobs, one pump each, no lost wake-up") {
  const bool fails = GENERATE(false, true);
  const std::uint32_t capacity = GENERATE(as<std::uint32_t>(), 1, 4, 16);
  const std::uint32_t waiting_max = GENERATE(as<std::uint32_t>(), 1, 3, 1000);
  CAPTURE(fails, capacity, waiting_max);
  const std::size_t streams = 16;
  const std::uint32_t messages = 400 / kSlower;
  FanoutPool pool;
  REQUIRE(pool.Start(2).ok());
  FakeTransport transport;
  std::vector<std::shared_ptr<JobQueue>> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(std::make_shared<JobQueue>(
        &pool.ready(), JobParameters{streams, capacity, fails, waiting_max}, &transport));
  }
  for (const auto& job : jobs) {
    for (std::size_t id = 0; id < streams; ++id) job->Post({Entry::kOpen, id});
  }
  for (std::uint32_t i = 0; i < messages; ++i) {
    for (const auto& job : jobs) job->Post({Entry::kSay, 0});
  }
  for (const auto& job : jobs) job->Post({Entry::kClose, 0});
  for (const auto& job : jobs) {
    for (std::size_t id = 0; id < streams; ++id) {
      Outcome& outcome = job->outcomes[id];
      CAPTURE(id, outcome.written.load(), outcome.finished.load());
      REQUIRE(Eventually([&] { return outcome.gone.load(std::memory_order_acquire) == 1; }));
      CHECK(outcome.finished == 1);
      CHECK(outcome.wrong == 0);
      // Write n of stream n fails; no write of stream 0 fails.
      CHECK(outcome.written == (fails && id != 0 ? id : messages));
    }
  }
  pool.Stop();
}
