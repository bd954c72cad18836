// Compares the cost of one hand-over in src/lockfree with the same using a mutex and a deque,
// measured in turns.
//
// usage: lockfree_bench
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lockfree/fanout_pool.h"
#include "lockfree/fanout_queue.h"
#include "lockfree/mailbox.h"
#include "lockfree/outbox.h"
#include "tests/bench/locked.h"

using namespace assay;
using namespace assay::bench;
using namespace assay::lockfree;

namespace {

constexpr int kTurns = 7;
constexpr std::size_t kItems = 100'000;
constexpr std::size_t kRoundTrips = 10'000;
constexpr std::size_t kEntries = 5'000;  // each goes to kStreams streams
constexpr std::size_t kStreams = 64;
constexpr std::size_t kBatch = 256;  // same as the control loop

struct Event {
  std::unique_ptr<std::uint64_t> body;
  std::uint64_t word = 0;
};
using Body = std::shared_ptr<const std::string>;

struct LockFree {
  using Inbox = Mailbox<Event>;
  using Pool = FanoutPool;
  using Queue = FanoutQueue<Body>;
  using Box = Outbox<Body, int>;
};
struct Locked {
  using Inbox = locked::Mailbox<Event>;
  using Pool = locked::Pool;
  using Queue = locked::FanoutQueue<Body>;
  using Box = locked::Outbox<Body>;
};

// --- The mailbox ---

template <class Inbox>
void PostMany(Inbox* inbox, std::size_t events) {
  for (std::size_t i = 0; i < events; ++i) {
    if (!inbox->Post(Event{nullptr, i})) std::abort();
  }
}

template <class Inbox>
void TakeMany(Inbox* inbox, std::size_t events) {
  std::vector<Event> batch;
  for (std::size_t taken = 0; taken < events;) {
    inbox->Wait(-1);
    batch.clear();
    taken += inbox->Drain(&batch, kBatch);
  }
}

template <class Parts>
void OneThread() {
  typename Parts::Inbox inbox;
  for (std::size_t i = 0; i < kItems; i += 1000) {
    PostMany(&inbox, 1000);
    TakeMany(&inbox, 1000);
  }
}

template <class Parts>
void FourPost() {
  typename Parts::Inbox inbox;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { PostMany(&inbox, kItems / 4); });
  TakeMany(&inbox, kItems);
  for (std::thread& thread : threads) thread.join();
}

template <class Parts>
void ThereAndBack() {
  typename Parts::Inbox there;
  typename Parts::Inbox back;
  std::thread echo([&] {
    for (std::size_t i = 0; i < kRoundTrips; ++i) {
      TakeMany(&there, 1);
      PostMany(&back, 1);
    }
  });
  for (std::size_t i = 0; i < kRoundTrips; ++i) {
    PostMany(&there, 1);
    TakeMany(&back, 1);
  }
  echo.join();
}

// --- The outbox ---

template <class Parts>
struct Stream {
  void Write(const Body& message) { bytes += message->size(); }
  void Finish(int) {}
  void Room() {}
  void Send(const Body& message) {
    if (box.Push(Body(message)) == PushResult::kStartPump) box.Pump(this);
  }
  typename Parts::Box box{16};
  std::size_t bytes = 0;
};

const Body kBody = std::make_shared<const std::string>(256, 'x');

template <class Parts>
void FillAndPump() {
  Stream<Parts> stream;
  for (std::size_t i = 0; i < kItems; i += 8) {
    for (int n = 0; n < 8; ++n) stream.Send(kBody);
    for (int n = 0; n < 8; ++n) stream.box.WriteDone(true, &stream);
  }
  if (stream.bytes != kItems * kBody->size()) std::abort();
}

// --- The fan-out queue ---

template <class Parts>
class Job : public Parts::Queue {
 public:
  template <class Ready>
  Job(Ready* ready, std::size_t streams) : Parts::Queue(ready), streams_(streams) {}
  std::atomic<std::size_t> handled{0};

 private:
  // Every write completes at once, on the worker: there is no network.
  void Handle(Body&& message) override {
    for (Stream<Parts>& stream : streams_) stream.Send(message);
    for (Stream<Parts>& stream : streams_) stream.box.WriteDone(true, &stream);
    handled.fetch_add(1, std::memory_order_release);
  }
  std::vector<Stream<Parts>> streams_;
};

template <class Parts>
void PostAndRun() {
  typename Parts::Pool pool;
  auto job = std::make_shared<Job<Parts>>(&pool.ready(), 0);
  for (std::size_t i = 0; i < kItems; i += 1000) {
    for (int n = 0; n < 1000; ++n) job->Post(Body(kBody));
    pool.RunHere();
  }
  if (job->handled != kItems) std::abort();
}

template <class Parts>
void FourJobs() {
  typename Parts::Pool pool;
  if (!pool.Start(2).ok()) std::abort();
  std::vector<std::shared_ptr<Job<Parts>>> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(std::make_shared<Job<Parts>>(&pool.ready(), kStreams));
  }
  for (std::size_t i = 0; i < kEntries / 4; ++i) {
    for (const auto& job : jobs) job->Post(Body(kBody));
  }
  for (const auto& job : jobs) {
    while (job->handled.load(std::memory_order_acquire) != kEntries / 4) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

// --- Figures ---

struct Spent {
  std::vector<double> wall_ns;
  std::vector<double> cpu_ns;  // of all threads
};

void Time(void (*work)(), std::size_t operations, Spent* spent) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - start;
  const double used = static_cast<double>(std::clock() - cpu) * (1e9 / CLOCKS_PER_SEC);
  spent->wall_ns.push_back(wall.count() / static_cast<double>(operations));
  spent->cpu_ns.push_back(used / static_cast<double>(operations));
}

double Median(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  return figures[figures.size() / 2];
}

void Compare(const char* what, std::size_t operations, void (*ours)(), void (*theirs)()) {
  Spent free;
  Spent locked;
  for (int turn = 0; turn < kTurns; ++turn) {
    Time(ours, operations, &free);
    Time(theirs, operations, &locked);
  }
  const double figures[] = {Median(free.wall_ns), Median(locked.wall_ns), Median(free.cpu_ns),
                            Median(locked.cpu_ns)};
  std::printf("  %-46s %9.1f %9.1f %6.2f %9.1f %9.1f %6.2f\n", what, figures[0], figures[1],
              figures[0] / figures[1], figures[2], figures[3], figures[2] / figures[3]);
}

}  // namespace

int main() {
  // Keeps a second thread alive: in a process of one thread, mutexes and shared pointers use no
  // atomic operations.
  std::mutex parked;
  parked.lock();
  std::thread second([&parked] { std::lock_guard guard(parked); });
  std::printf("hand-overs, ns each: medians of %d turns\n", kTurns);
  std::printf("  %-46s %26s %26s\n", "", "on the clock", "processor time");
  std::printf("  %-46s %9s %9s %6s %9s %9s %6s\n", "", "lock-free", "mutex", "ratio", "lock-free",
              "mutex", "ratio");
  Compare("mailbox: post and take, one thread", kItems, OneThread<LockFree>, OneThread<Locked>);
  Compare("mailbox: 4 threads post, one takes", kItems, FourPost<LockFree>, FourPost<Locked>);
  Compare("mailbox: to a thread that sleeps", 2 * kRoundTrips, ThereAndBack<LockFree>,
          ThereAndBack<Locked>);
  Compare("outbox: push, write, drop", kItems, FillAndPump<LockFree>, FillAndPump<Locked>);
  Compare("fan-out queue: post and handle, one thread", kItems, PostAndRun<LockFree>,
          PostAndRun<Locked>);
  Compare("4 queues, 2 workers, 64 outboxes: a message", kEntries * kStreams, FourJobs<LockFree>,
          FourJobs<Locked>);
  parked.unlock();
  second.join();
  return 0;
}
