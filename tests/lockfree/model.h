// A small model checker for the hand-overs of src/lockfree. It runs their real code, with
// instrumented primitives in place of a platform's, through every interleaving of a scenario.
//
// A scenario sets up shared objects and two to five threads. The threads are fibers on one system
// thread. Before each visible operation (on an atomic, a queue or an event) a fiber stops, and the
// explorer chooses which fiber runs next. It explores all choices depth first, by running the
// scenario again from the start. It prunes a run that reaches a situation seen before: the same
// shared state and, per thread, the same history of observed values. (Threads are deterministic, so
// the history is the state. A thread whose future depends only on some number calls Forget.) Of the
// vector clocks only the order of their entries is compared, as nothing else can matter later.
//
// It finds:
// - a failed Expect;
// - a deadlock, which is how a lost wake-up shows;
// - a data race: atomics and queues carry vector clocks by their memory orders (release sequences
//   included), and a Cell checks that each access happens after the last conflicting one.
// The interleavings are sequentially consistent, so the checker does not try stale relaxed reads;
// the headers of src/lockfree argue why those are correct.
//
// For the pruning to be correct, shared objects must be created in the set-up, outside the threads,
// and must hold everything that threads share, including a scenario's own bookkeeping (Watched).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::lockfree::model {

constexpr std::size_t kThreadsMax = 6;

// A vector clock: per thread, how many of its operations have happened before.
struct Clock {
  std::array<std::uint32_t, kThreadsMax> at{};
  void Join(const Clock& other);
};

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value);

// Collects the parts of a situation and computes its fingerprint.
class Picture {
 public:
  void Add(std::uint64_t word) { hash_ = Mix(hash_, word); }
  void Add(const Clock& clock) { clocks_.push_back(&clock); }
  std::uint64_t Fingerprint();

 private:
  std::uint64_t hash_ = 0;
  std::vector<const Clock*> clocks_;
};

// Base of every object that is part of the state. It counts only if created in the set-up.
class Shared {
 public:
  Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  virtual void AddTo(Picture* picture) const = 0;
  // The running thread deletes the object: fails unless every access happened before.
  virtual void End() {}

 protected:
  virtual ~Shared();
  void Touch() const;  // fails if Retire covered this object

 private:
  std::size_t index_;
};

// --- For instrumented objects and for scenarios' threads ---

// Lets other threads run first.
void Step();
// Runs other threads until `enabled` holds.
void BlockUntil(std::function<bool()> enabled);
// Explores every result of 0 .. options - 1.
std::size_t Choose(std::size_t options);
// Adds a value that this thread has read to its history.
void Observe(std::uint64_t seen);
// Replaces this thread's history: its future depends only on `state`.
void Forget(std::uint64_t state);
void Expect(bool holds, const char* what);
// Treats the instrumented objects in this memory as deleted: every later use fails.
void Retire(const void* begin, std::size_t bytes);
std::size_t Self();  // index of the running thread; 0 outside of threads

// Each thread's last write and last read of a plain variable. Read and Write fail on a race.
struct Accesses {
  Clock written;
  Clock read;
};
void Read(Accesses& accesses);
void Write(Accesses& accesses);

// The two halves of synchronises-with. No effect outside of threads.
void ReleaseTo(Clock* clock);
void AcquireFrom(const Clock& clock);

struct Scenario {
  void Thread(std::function<void()> body) { threads.push_back(std::move(body)); }
  std::vector<std::function<void()>> threads;
  std::function<void()> at_end;  // after every thread has ended
};

struct Findings {
  std::string failure;  // empty: every interleaving is correct
  std::uint64_t runs = 0;
  std::uint64_t situations = 0;
};

Findings Explore(const std::function<void(Scenario*)>& set_up);

// --- Primitives ---

// kOrdered false: every access is relaxed, whatever order it requests. This tests whether a
// scenario detects the missing order.
template <class T, bool kOrdered = true>
class Atomic : public Shared {
  static_assert(std::is_integral_v<T>);

 public:
  Atomic(T value) : value_(value) {}  // NOLINT: as std::atomic

  T load(std::memory_order order) const {
    Step();
    Touch();
    See(order);
    return value_;
  }
  T fetch_add(T operand, std::memory_order order) {
    Step();
    return Change(order, static_cast<T>(value_ + operand));
  }
  T fetch_sub(T operand, std::memory_order order) {
    Step();
    return Change(order, static_cast<T>(value_ - operand));
  }
  T fetch_or(T operand, std::memory_order order) {
    Step();
    return Change(order, static_cast<T>(value_ | operand));
  }
  T exchange(T value, std::memory_order order) {
    Step();
    return Change(order, value);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) {
    Step();
    Touch();
    if (value_ == expected) {
      Change(success, desired);
      return true;
    }
    See(failure);
    expected = value_;
    return false;
  }
  void AddTo(Picture* picture) const override {
    picture->Add(static_cast<std::uint64_t>(value_));
    picture->Add(released_);
    picture->Add(accesses_.read);
  }
  void End() override { Write(accesses_); }

 private:
  void See(std::memory_order order) const {
    Read(accesses_);  // recorded only for End
    if (kOrdered && order != std::memory_order_relaxed && order != std::memory_order_release) {
      AcquireFrom(released_);
    }
    Observe(static_cast<std::uint64_t>(value_));
  }
  T Change(std::memory_order order, T desired) {
    Touch();
    See(order);
    // A read-modify-write continues the release sequence that it reads from, so the clocks join.
    if (kOrdered && order != std::memory_order_relaxed && order != std::memory_order_acquire) {
      ReleaseTo(&released_);
    }
    return std::exchange(value_, desired);
  }

  T value_;
  Clock released_;
  mutable Accesses accesses_;
};

// A plain variable: of two accesses of which at least one is a write, one must happen before the
// other. A copy is a separate variable.
template <class T = std::uint64_t>
class Cell : public Shared {
 public:
  Cell() = default;
  Cell(T value) { Set(value); }  // NOLINT: as a T
  Cell(const Cell& other) noexcept { Set(other.Get()); }
  Cell(Cell&& other) noexcept { Set(other.Get()); }
  Cell& operator=(const Cell& other) noexcept {
    Set(other.Get());
    return *this;
  }
  Cell& operator=(Cell&& other) noexcept {
    Set(other.Get());
    return *this;
  }
  Cell& operator=(T value) noexcept {
    Set(value);
    return *this;
  }
  Cell& operator++() noexcept {
    Set(static_cast<T>(Get() + 1));
    return *this;
  }
  operator T() const noexcept { return Get(); }  // NOLINT: as a T

  T Get() const noexcept {
    Touch();
    Read(accesses_);
    Observe(static_cast<std::uint64_t>(value_));
    return value_;
  }
  void Set(T value) noexcept {
    Touch();
    Write(accesses_);
    value_ = value;
  }
  void AddTo(Picture* picture) const override {
    picture->Add(static_cast<std::uint64_t>(value_));
    picture->Add(accesses_.written);
    picture->Add(accesses_.read);
  }
  void End() override { Write(accesses_); }

 private:
  T value_{};
  mutable Accesses accesses_;
};

// A scenario's own bookkeeping. It is not an operation of the code under test, so it causes no step
// and no race.
class Watched : public Shared {
 public:
  Watched() = default;
  Watched& operator=(std::uint64_t value) {
    value_ = value;
    return *this;
  }
  Watched& operator++() { return *this = value_ + 1; }
  Watched& operator--() { return *this = value_ - 1; }
  operator std::uint64_t() const {  // NOLINT: as a number
    Observe(value_);
    return value_;
  }
  void AddTo(Picture* picture) const override { picture->Add(value_); }

 private:
  std::uint64_t value_ = 0;
};

// An order that the surroundings of a scenario guarantee by other means: Pass happens before a
// later Follow.
class Edge : public Shared {
 public:
  void Pass() { ReleaseTo(&clock_); }
  void Follow() const { AcquireFrom(clock_); }
  void AddTo(Picture* picture) const override { picture->Add(clock_); }

 private:
  Clock clock_;
};

template <class T>
void AddItem(Picture* picture, const Cell<T>& item) {
  item.AddTo(picture);
}
template <class T>
void AddItem(Picture* picture, const std::shared_ptr<T>& item) {
  picture->Add(item != nullptr);
}

// The guarantees of moodycamel's queue on which the code relies, and no more: FIFO per producer,
// any order between producers, and dequeuing an item synchronises with enqueuing it.
template <class T>
class Queue : public Shared {
 public:
  explicit Queue(std::size_t = 0) {}

  bool enqueue(T&& item) {
    Step();
    Touch();
    Entry& entry = lanes_[Self()].emplace_back();
    entry.item = std::move(item);
    ReleaseTo(&entry.put);
    return true;
  }
  template <class U>
  bool try_dequeue(U& item) {
    Step();
    Touch();
    return TakeOne([&](T&& taken) { item = std::move(taken); });
  }
  // Waits for an item, like a semaphore that counts the items. False if the queue is empty and
  // give_up() holds.
  template <class U>
  bool TakeWhenReady(U& item, const std::function<bool()>& give_up) {
    BlockUntil([&] { return !empty() || give_up(); });
    return TakeOne([&](T&& taken) { item = std::move(taken); });
  }
  template <class It>
  std::size_t try_dequeue_bulk(It to, std::size_t max) {
    Step();
    Touch();
    std::size_t taken = 0;
    while (taken != max && TakeOne([&](T&& item) { *to++ = std::move(item); })) ++taken;
    return taken;
  }
  bool empty() const {
    for (const auto& lane : lanes_) {
      if (!lane.empty()) return false;
    }
    return true;
  }
  void AddTo(Picture* picture) const override {
    for (const auto& lane : lanes_) {
      picture->Add(lane.size());
      for (const Entry& entry : lane) {
        AddItem(picture, entry.item);
        picture->Add(entry.put);
      }
    }
  }

 private:
  struct Entry {
    T item;
    Clock put;
  };

  template <class Sink>
  bool TakeOne(Sink sink) {
    std::vector<std::size_t> full;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (!lanes_[lane].empty()) full.push_back(lane);
    }
    Observe(full.size());
    if (full.empty()) return false;
    auto& lane = lanes_[full[full.size() == 1 ? 0 : Choose(full.size())]];
    AcquireFrom(lane.front().put);
    sink(std::move(lane.front().item));
    lane.pop_front();
    return true;
  }

  std::array<std::deque<Entry>, kThreadsMax> lanes_;
};

// Like WakeEvent. kDeaf true: any signal may get lost.
template <bool kDeaf = false>
class Event : public Shared {
 public:
  Event() { latest_ = this; }

  void Signal() {
    Step();
    Touch();
    if (kDeaf && Choose(2) == 1) return;
    signalled_ = true;
    ReleaseTo(&released_);
  }
  void Clear() {
    Step();
    if (signalled_) AcquireFrom(released_);
    Observe(signalled_);
    signalled_ = false;
  }
  bool WaitFor(int) {
    BlockUntil([this] { return signalled_; });
    return true;
  }
  // A scenario has one mailbox, so there is one event and its descriptor needs no number.
  int fd() const { return 0; }
  static void PollReadable() { latest_->WaitFor(-1); }
  void AddTo(Picture* picture) const override {
    picture->Add(signalled_);
    picture->Add(released_);
  }

 private:
  inline static Event* latest_ = nullptr;
  bool signalled_ = false;
  Clock released_;
};

}  // namespace assay::lockfree::model
