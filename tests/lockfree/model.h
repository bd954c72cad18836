// A small model checker for the hand-overs of src/lockfree. It runs their real code, with
// instrumented primitives in the place of a platform's, through every interleaving of a scenario.
//
// A scenario sets up shared objects and two to five threads. The threads are fibers on one system
// thread; before each visible operation (an atomic access, a queue, an event) a fiber stops and the
// explorer chooses who goes on, depth first over all choices, by running the scenario again from
// the start. It prunes a run where it meets a situation it has met before: same shared state and,
// per thread, the same history of what it saw (threads are deterministic, so history is state; a
// thread that is where only some number tells what comes says so by Forget). Of the vector clocks
// only the order of their entries counts, as nothing else can matter later.
//
// What is found: a failed Expect; a deadlock, which is what a lost wake-up looks like; a data race:
// atomics and queues carry vector clocks by their memory orders (release sequences included), and a
// Cell checks that each access to it happens after the last one that conflicts. The interleavings
// are sequentially consistent, so a stale relaxed read is not tried; the headers argue for those.
//
// Shared objects are made in the set-up, outside the threads, and hold all that threads share,
// also what a scenario keeps for its own checks (Watched), for pruning to be right.
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

namespace assay::model {

constexpr std::size_t kThreadsMax = 6;

// Per thread, how many of its operations are known to have happened.
struct Clock {
  std::array<std::uint32_t, kThreadsMax> at{};
  void Join(const Clock& other);
};

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value);

// A situation, as it is put together.
class Picture {
 public:
  void Add(std::uint64_t word) { hash_ = Mix(hash_, word); }
  void Add(const Clock& clock) { clocks_.push_back(&clock); }
  std::uint64_t Fingerprint();

 private:
  std::uint64_t hash_ = 0;
  std::vector<const Clock*> clocks_;
};

// Everything that belongs to the state, if it was made in the set-up.
class Shared {
 public:
  Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  virtual void AddTo(Picture* picture) const = 0;
  // The running thread ends its life: everything done with it must have happened before.
  virtual void End() {}

 protected:
  virtual ~Shared();
  void Touch() const;  // fails on what Retire was told of

 private:
  std::size_t index_;
};

// --- For instrumented objects and for scenarios' threads ---

void Step();                                     // others may go first
void BlockUntil(std::function<bool()> enabled);  // others go until it holds
std::size_t Choose(std::size_t options);         // any of 0 .. options - 1
void Observe(std::uint64_t seen);                // this thread now knows this
void Forget(std::uint64_t state);                // and here only this, of all it has seen
void Expect(bool holds, const char* what);
// From now on no instrumented object in there may be used: it counts as deleted.
void Retire(const void* begin, std::size_t bytes);
std::size_t Self();  // index of the running thread; 0 outside of threads

// When each thread last wrote and read a plain variable. Read and Write fail on a race.
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
  std::string failure;  // empty: every interleaving is right
  std::uint64_t runs = 0;
  std::uint64_t situations = 0;
};

Findings Explore(const std::function<void(Scenario*)>& set_up);

// --- Primitives ---

// kOrdered false: every access is relaxed, whatever it asks for. Finds out whether a scenario
// notices that.
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
    Read(accesses_);  // for End alone
    if (kOrdered && order != std::memory_order_relaxed && order != std::memory_order_release) {
      AcquireFrom(released_);
    }
    Observe(static_cast<std::uint64_t>(value_));
  }
  T Change(std::memory_order order, T desired) {
    Touch();
    See(order);
    // A read-modify-write goes on with the release sequence it meets, so the clocks add up.
    if (kOrdered && order != std::memory_order_relaxed && order != std::memory_order_acquire) {
      ReleaseTo(&released_);
    }
    return std::exchange(value_, desired);
  }

  T value_;
  Clock released_;
  mutable Accesses accesses_;
};

// A plain variable: of two accesses, one of them a write, one must happen before the other. A copy
// is a variable of its own.
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

// A scenario's own book-keeping: no operation of the code under test, so no step and no race.
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

// What a scenario's surroundings order by means of their own: Pass happens before a later Follow.
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

// What the code asks of moodycamel's queue and no more: FIFO per producer, any order between
// producers, taking an item synchronises with putting it in.
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
  // As a semaphore counting the items before it: false if there is nothing and give_up() holds.
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

// As WakeEvent. kDeaf true: a signal now and then gets lost.
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
  // One mailbox a scenario, so one event: its descriptor needs no number.
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

}  // namespace assay::model
