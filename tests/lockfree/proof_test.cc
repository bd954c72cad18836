// Runs the real code of src/lockfree's hand-overs through every interleaving (see model.h).
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lockfree/fanout_queue.h"
#include "lockfree/mailbox.h"
#include "lockfree/outbox.h"
#include "tests/lockfree/model.h"

using namespace assay;
using namespace assay::lockfree;
using model::BlockUntil;
using model::Cell;
using model::Expect;
using model::Scenario;
using model::Watched;

namespace {

std::string Told(const model::Findings& findings) {
  return findings.failure + " (" + std::to_string(findings.runs) + " runs, " +
         std::to_string(findings.situations) + " situations)";
}

// Checks that every interleaving is correct and that the scenario is not trivial.
void Prove(const std::function<void(Scenario*)>& set_up) {
  const model::Findings findings = model::Explore(set_up);
  INFO(Told(findings));
  CHECK(findings.failure.empty());
  CHECK(findings.situations > 100);
}

void Refute(const std::string& with, const std::function<void(Scenario*)>& set_up) {
  const model::Findings findings = model::Explore(set_up);
  INFO(Told(findings));
  CHECK(findings.failure.find(with) == 0);
}

template <bool kOrdered = true>
struct ModelPlatform {
  template <class U>
  using Atomic = model::Atomic<U, kOrdered>;
  template <class U>
  using Plain = model::Cell<U>;
  template <class U>
  using Queue = model::Queue<U>;
  using Event = model::Event<>;
};

// --- Outbox ---

constexpr std::uint64_t kFinalValue = 1000;

// Treats a stream as gRPC treats a reactor: one write at a time, completed on any thread; OnDone,
// which deletes the stream, after Finish and while no reaction runs.
template <class Box, bool kWaits = false>
struct ModelStream {
  static constexpr bool kMayWait = kWaits;
  explicit ModelStream(std::uint32_t capacity) : box(std::make_unique<Box>(capacity)) {}

  void Write(const Cell<>& message) {
    Expect(in_flight == 0 && finished == 0, "a write during a write or after Finish");
    Expect(failed == 0, "a write after a failed one");
    Expect(message.Get() == written + 1, "a message lost, duplicated or out of order");
    ++written;
    wire.Pass();
    in_flight = 1;
  }
  void Finish(const Cell<>& final) {
    Expect(in_flight == 0 && finished == 0, "a Finish during a write or a second time");
    Expect(final.Get() == kFinalValue, "not the final entry");
    finished = 1;
    ended.Pass();
    model::Step();
  }
  void Room() {
    Expect(room == 0, "room reported twice");
    room = 1;
  }

  bool MayDelete() const { return finished == 1 && reactions == 0 && gone == 0; }

  // The body of a gRPC thread.
  void React(bool may_fail) {
    for (;;) {
      model::Forget(0);
      BlockUntil([this] { return in_flight == 1 || MayDelete() || gone == 1; });
      if (gone == 1) return;
      if (in_flight == 1) {
        in_flight = 0;
        ++reactions;
        wire.Follow();
        const bool ok = !may_fail || failed == 1 || model::Choose(2) == 0;
        if (!ok) failed = 1;
        ++done;
        box->WriteDone(ok, this);
        ended.Pass();
        --reactions;
      } else {
        gone = 1;
        ended.Follow();
        model::Retire(box.get(), sizeof *box);
      }
    }
  }

  std::unique_ptr<Box> box;
  model::Edge wire;   // orders a write's start before its reaction
  model::Edge ended;  // orders the reactions and Finish before the deletion
  Watched written, done, in_flight, finished, failed, room, reactions, gone;
};

// waiting_max: the filler's own limit of messages that wait or are being written.
template <class Stream>
void Fill(Stream* stream, std::uint64_t first, std::uint64_t last,
          std::uint64_t waiting_max = 1000) {
  for (std::uint64_t i = first; i <= last; ++i) {
    model::Forget(i);
    if constexpr (Stream::kMayWait) {
      // `done` counts completed writes; messages that a failed stream drops are not counted.
      while (i - 1 - stream->done >= waiting_max && stream->box->WaitForRoom()) {
        BlockUntil([stream] { return stream->room == 1; });
        stream->room = 0;
        model::Forget(i);
      }
    }
    PushResult result = PushResult::kFull;
    while ((result = stream->box->Push(Cell<>(i))) == PushResult::kFull) {
      BlockUntil([stream] { return stream->room == 1; });
      stream->room = 0;
      model::Forget(i);
    }
    if (result == PushResult::kClosed) {
      Expect(stream->failed == 1, "refused without a failure");
      return;
    }
    if (result == PushResult::kStartPump) stream->box->Pump(stream);
  }
}

template <class Stream>
void End(Stream* stream) {
  if (stream->box->PushFinal(Cell<>(kFinalValue)) == PushResult::kStartPump) {
    stream->box->Pump(stream);
  }
}

// Two fillers, one after the other as with fan-out workers, and gRPC's threads.
template <class Platform, bool kWaits = false>
auto OutboxScenario(std::uint32_t capacity, std::uint64_t messages, bool may_fail, int reactors = 2,
                    std::uint64_t waiting_max = 1000) {
  return [=](Scenario* scenario) {
    using Stream = ModelStream<Outbox<Cell<>, Cell<>, Platform>, kWaits>;
    auto stream = std::make_shared<Stream>(capacity);
    auto handed_over = std::make_shared<Watched>();
    auto hand_over = std::make_shared<model::Edge>();
    const std::uint64_t half = messages / 2;
    scenario->Thread([=] {
      Fill(stream.get(), 1, half, waiting_max);
      hand_over->Pass();
      *handed_over = 1;
    });
    scenario->Thread([=] {
      BlockUntil([=] { return *handed_over == 1; });
      hand_over->Follow();
      Fill(stream.get(), half + 1, messages, waiting_max);
      End(stream.get());
    });
    for (int i = 0; i < reactors; ++i) {
      scenario->Thread([=] { stream->React(may_fail); });
    }
    scenario->at_end = [=] {
      Expect(stream->finished == 1 && stream->gone == 1, "not finished or not deleted");
      if (stream->failed == 0) Expect(stream->written == messages, "a message lost");
    };
  };
}

// A wrong outbox: fullness and starving are two variables, and there is no second check.
class ForgetfulBox {
 public:
  explicit ForgetfulBox(std::uint32_t capacity) : capacity_(capacity) {}
  PushResult Push(Cell<>&& message) {
    if (pending_.load(std::memory_order_seq_cst) == capacity_) {
      starving_.exchange(1, std::memory_order_seq_cst);
      return PushResult::kFull;
    }
    messages_.enqueue(std::move(message));
    return pending_.fetch_add(1, std::memory_order_seq_cst) == 0 ? PushResult::kStartPump
                                                                 : PushResult::kQueued;
  }
  PushResult PushFinal(Cell<>&& final) {
    messages_.enqueue(std::move(final));
    return pending_.fetch_add(1, std::memory_order_seq_cst) == 0 ? PushResult::kStartPump
                                                                 : PushResult::kQueued;
  }
  template <class Stream>
  void Pump(Stream* stream) {
    messages_.try_dequeue(front_);
    if (front_.Get() == kFinalValue) {
      stream->Finish(front_);
    } else {
      stream->Write(front_);
    }
  }
  template <class Stream>
  void WriteDone(bool, Stream* stream) {
    const bool more = pending_.fetch_sub(1, std::memory_order_seq_cst) != 1;
    if (starving_.exchange(0, std::memory_order_seq_cst) == 1) stream->Room();
    if (more) Pump(stream);
  }

 private:
  const std::uint32_t capacity_;
  model::Atomic<std::uint32_t> pending_{0};
  model::Atomic<int> starving_{0};
  model::Queue<Cell<>> messages_;
  Cell<> front_;
};

// A wrong outbox: WaitForRoom makes the filler wait even if the ring is empty.
class HopefulBox : public Outbox<Cell<>, Cell<>, ModelPlatform<>> {
 public:
  using Outbox::Outbox;
  bool WaitForRoom() noexcept {
    static_cast<void>(Outbox::WaitForRoom());
    return true;
  }
};

// --- Fan-out queue ---

struct ModelReady {
  void Push(std::shared_ptr<FanoutTask> task) { tasks.enqueue(std::move(task)); }
  model::Queue<std::shared_ptr<FanoutTask>> tasks;
};

template <bool kOrdered = true>
struct FanoutModel : ModelPlatform<kOrdered> {
  using Ready = ModelReady;
};

// The checks of a fan-out scenario, for any kind of queue.
struct FanoutChecks {
  void Handle(std::uint64_t entry) {
    model::Step();
    ++owned;
    const std::size_t producer = entry / 10;
    Expect(entry % 10 == last[producer] + 1, "an entry lost, duplicated or out of order");
    last[producer] = entry % 10;
    ++handled;
  }
  ModelReady ready;
  Watched running, destroyed, handled;
  std::array<Watched, 2> last;
  Cell<> owned;
};

template <class Platform>
class CheckedQueue : public FanoutQueue<Cell<>, Platform> {
 public:
  explicit CheckedQueue(FanoutChecks* checks)
      : FanoutQueue<Cell<>, Platform>(&checks->ready), checks_(checks) {}
  ~CheckedQueue() override { ++checks_->destroyed; }

 private:
  void Handle(Cell<>&& entry) override { checks_->Handle(entry.Get()); }
  FanoutChecks* const checks_;
};

// A wrong fan-out queue: Run takes every visible entry, counted or not.
class GreedyQueue : public FanoutTask {
 public:
  explicit GreedyQueue(FanoutChecks* checks) : checks_(checks) {}
  ~GreedyQueue() override { ++checks_->destroyed; }
  void Post(Cell<>&& entry) {
    queue_.enqueue(std::move(entry));
    if (count_.fetch_add(1, std::memory_order_acq_rel) == 0)
      checks_->ready.Push(shared_from_this());
  }
  bool Run(std::size_t budget) override {
    std::size_t done = 0;
    Cell<> entry;
    while (done != budget && queue_.try_dequeue(entry)) {
      checks_->Handle(entry.Get());
      ++done;
    }
    return count_.fetch_sub(done, std::memory_order_acq_rel) != done;
  }

 private:
  FanoutChecks* const checks_;
  model::Atomic<std::size_t> count_{0};
  model::Queue<Cell<>> queue_;
};

template <class Queue>
auto FanoutScenario(std::vector<std::uint64_t> posts, std::size_t budget, int workers = 2) {
  return [=](Scenario* scenario) {
    auto checks = std::make_shared<FanoutChecks>();
    auto queue = std::make_shared<Queue>(checks.get());
    std::uint64_t total = 0;
    for (std::size_t p = 0; p < posts.size(); ++p) {
      total += posts[p];
      scenario->Thread([=]() mutable {
        auto mine = std::move(queue);  // the producers hold the only references
        for (std::uint64_t i = 1; i <= posts[p]; ++i) {
          mine->Post(Cell<>(p * 10 + i));
          model::Forget(i);
        }
      });
    }
    for (int w = 0; w < workers; ++w) {
      scenario->Thread([=] {
        std::shared_ptr<FanoutTask> task;
        model::Forget(0);
        while (checks->ready.tasks.TakeWhenReady(task, [=] { return checks->handled == total; })) {
          Expect(checks->running == 0, "two workers inside");
          checks->running = 1;
          const bool more = task->Run(budget);
          checks->running = 0;
          if (more) checks->ready.Push(std::move(task));
          task.reset();
          model::Forget(0);
        }
      });
    }
    queue.reset();
    scenario->at_end = [=] {
      Expect(checks->handled == total, "an entry lost or duplicated");
      Expect(checks->destroyed == 1, "the queue is not destroyed");
    };
  };
}

// --- Mailbox ---

template <class Platform>
struct MailboxChecks {
  Mailbox<Cell<>, Platform> mailbox;
  std::array<Watched, 2> accepted, received;
  Watched closed;

  void Post(std::size_t producer, std::uint64_t posts) {
    for (std::uint64_t i = 1; i <= posts; ++i) {
      const bool was_closed = closed == 1;
      Cell<> item(producer * 10 + i);
      if (!mailbox.Post(std::move(item))) return;
      Expect(!was_closed, "accepted after Close");
      ++accepted[producer];
      model::Forget(i);
    }
  }
  void Drain(std::size_t max) {
    std::vector<Cell<>> batch;
    Expect(mailbox.Drain(&batch, max) == batch.size() && batch.size() <= max, "a wrong number");
    for (const Cell<>& item : batch) {
      const std::uint64_t value = item.Get();
      Expect(value % 10 == received[value / 10] + 1, "an item lost, duplicated or out of order");
      received[value / 10] = value % 10;
    }
  }
  std::uint64_t Received() const { return received[0] + received[1]; }
};

// polls: the consumer sleeps on the descriptor, as a loop with a poll set does, instead of in Wait.
template <class Platform = ModelPlatform<>>
auto MailboxScenario(std::vector<std::uint64_t> posts, std::size_t max, bool polls, bool closes) {
  return [=](Scenario* scenario) {
    auto checks = std::make_shared<MailboxChecks<Platform>>();
    std::uint64_t total = 0;
    for (std::size_t p = 0; p < posts.size(); ++p) {
      total += posts[p];
      scenario->Thread([=] { checks->Post(p, posts[p]); });
    }
    scenario->Thread([=] {
      while (closes ? !checks->mailbox.Drained() : checks->Received() != total) {
        if (polls) {
          Platform::Event::PollReadable();
        } else {
          Expect(checks->mailbox.Wait(-1), "woken for nothing");
        }
        checks->Drain(max);
        model::Forget(0);
      }
    });
    if (closes) {
      scenario->Thread([=] {
        checks->mailbox.Close();
        checks->closed = 1;
      });
    }
    scenario->at_end = [=] {
      for (std::size_t p = 0; p < posts.size(); ++p) {
        Expect(checks->received[p] == checks->accepted[p], "an item lost");
        if (!closes) Expect(checks->received[p] == posts[p], "refused without Close");
      }
    };
  };
}

struct DeafPlatform : ModelPlatform<> {
  using Event = model::Event<true>;
};

}  // namespace

TEST_CASE("outbox: one pump, every message in order, one Finish, no lost wake-up") {
  SECTION("capacity 1") { Prove(OutboxScenario<ModelPlatform<>>(1, 3, false)); }
  SECTION("capacity 2") { Prove(OutboxScenario<ModelPlatform<>>(2, 3, false)); }
  SECTION("capacity 4") { Prove(OutboxScenario<ModelPlatform<>>(4, 5, false, 1)); }
}

TEST_CASE("outbox: whichever write fails, Finish is called once and last") {
  SECTION("capacity 1") { Prove(OutboxScenario<ModelPlatform<>>(1, 3, true)); }
  SECTION("capacity 2") { Prove(OutboxScenario<ModelPlatform<>>(2, 3, true)); }
}

TEST_CASE("outbox: a filler in WaitForRoom is woken, whichever write fails") {
  const bool may_fail = GENERATE(false, true);
  CAPTURE(may_fail);
  SECTION("capacity 2, one at a time") {
    Prove(OutboxScenario<ModelPlatform<>, true>(2, 3, may_fail, 2, 1));
  }
  SECTION("capacity 4, one at a time") {
    Prove(OutboxScenario<ModelPlatform<>, true>(4, 4, may_fail, 1, 1));
  }
  SECTION("capacity 4, two at a time") {
    Prove(OutboxScenario<ModelPlatform<>, true>(4, 4, may_fail, 1, 2));
  }
}

TEST_CASE("outbox: the proof detects a missing memory order and a missing second check") {
  Refute("data race", OutboxScenario<ModelPlatform<false>>(2, 3, false));
  Refute("deadlock", [](Scenario* scenario) {
    using Stream = ModelStream<ForgetfulBox>;
    auto stream = std::make_shared<Stream>(1u);
    scenario->Thread([=] {
      Fill(stream.get(), 1, 2);
      End(stream.get());
    });
    scenario->Thread([=] { stream->React(false); });
  });
  Refute("deadlock", [](Scenario* scenario) {
    using Stream = ModelStream<HopefulBox, true>;
    auto stream = std::make_shared<Stream>(2u);
    scenario->Thread([=] {
      Fill(stream.get(), 1, 2, 1);
      End(stream.get());
    });
    scenario->Thread([=] { stream->React(false); });
  });
}

TEST_CASE("fan-out queue: one worker at a time, no entry lost, duplicated or reordered") {
  using Queue = CheckedQueue<FanoutModel<>>;
  SECTION("one producer") { Prove(FanoutScenario<Queue>({3}, 1)); }
  SECTION("one producer, larger turns") { Prove(FanoutScenario<Queue>({4}, 2)); }
  SECTION("two producers, turns of one") { Prove(FanoutScenario<Queue>({2, 1}, 1)); }
  SECTION("two producers, turns of two") { Prove(FanoutScenario<Queue>({2, 2}, 2)); }
  SECTION("three workers") { Prove(FanoutScenario<Queue>({1, 1}, 1, 3)); }
}

TEST_CASE("fan-out queue: the proof detects a missing memory order and a greedy worker") {
  Refute("data race", FanoutScenario<CheckedQueue<FanoutModel<false>>>({2, 1}, 1));
  Refute("two workers inside", FanoutScenario<GreedyQueue>({2, 1}, 2));
}

TEST_CASE("mailbox: no item lost, duplicated or reordered, no lost wake-up") {
  SECTION("waiting") { Prove(MailboxScenario<>({1, 1}, 1, false, false)); }
  SECTION("polling, one at a time") { Prove(MailboxScenario<>({2, 1}, 1, true, false)); }
  SECTION("polling, in batches") { Prove(MailboxScenario<>({2, 2}, 3, true, false)); }
}

TEST_CASE("mailbox: Close refuses later posts and loses no accepted item") {
  SECTION("waiting") { Prove(MailboxScenario<>({2}, 2, false, true)); }
  SECTION("polling") { Prove(MailboxScenario<>({1, 1}, 2, true, true)); }
}

TEST_CASE("mailbox: the proof detects a lost signal") {
  Refute("deadlock", MailboxScenario<DeafPlatform>({2, 1}, 1, true, false));
}

// Takes minutes, so it runs only if selected by its tag. Run it after a change of these headers.
TEST_CASE("larger scenarios", "[.][long]") {
  using Queue = CheckedQueue<FanoutModel<>>;
  SECTION("outbox") { Prove(OutboxScenario<ModelPlatform<>>(2, 4, false)); }
  SECTION("outbox with failures") { Prove(OutboxScenario<ModelPlatform<>>(2, 4, true)); }
  SECTION("outbox with half of it free") { Prove(OutboxScenario<ModelPlatform<>>(4, 6, false)); }
  SECTION("fan-out queue") { Prove(FanoutScenario<Queue>({3, 2}, 2)); }
  SECTION("fan-out queue, three workers") { Prove(FanoutScenario<Queue>({2, 1}, 1, 3)); }
  SECTION("mailbox") { Prove(MailboxScenario<>({2, 1}, 1, false, false)); }
  SECTION("mailbox, waiting and closed") { Prove(MailboxScenario<>({1, 1}, 2, false, true)); }
  SECTION("mailbox, polling and closed") { Prove(MailboxScenario<>({2, 1}, 2, true, true)); }
}
