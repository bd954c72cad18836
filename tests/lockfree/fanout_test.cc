#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lockfree/fanout_pool.h"
#include "lockfree/fanout_queue.h"
#include "tests/lockfree/items.h"

using namespace assay::lockfree;

namespace {

// Counts errors instead of asserting, because its handler runs on workers.
class LedgerQueue : public FanoutQueue<Item, FanoutPlatform<TinyQueueTraits>> {
 public:
  LedgerQueue(ReadyQueue* ready, std::size_t producers) : FanoutQueue(ready), ledger(producers) {}

  std::atomic<std::size_t> handled{0};
  std::atomic<std::size_t> wrong{0};
  Ledger ledger;

 private:
  void Handle(Item&& item) override {
    if (inside_.exchange(true, std::memory_order_relaxed)) ++wrong;
    if (!ledger.Enter(item)) ++wrong;
    inside_.store(false, std::memory_order_relaxed);
    handled.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<bool> inside_{false};
};

// Logs which queue handled an entry, for single-threaded tests.
class NamedQueue : public FanoutQueue<int> {
 public:
  NamedQueue(ReadyQueue* ready, int name, std::vector<int>* log)
      : FanoutQueue(ready), name_(name), log_(log) {}
  ~NamedQueue() override { log_->push_back(-name_); }

 private:
  void Handle(int&& entry) override {
    log_->push_back(name_);
    if (entry > 0) Post(entry - 1);
  }
  const int name_;
  std::vector<int>* const log_;
};

void PostTo(const std::vector<std::shared_ptr<LedgerQueue>>& queues, std::uint32_t producer,
            std::uint32_t items) {
  for (std::uint32_t seq = 1; seq <= items; ++seq) {
    for (const auto& queue : queues) queue->Post(MakeItem(producer, seq));
  }
}

std::size_t Handled(const std::vector<std::shared_ptr<LedgerQueue>>& queues) {
  std::size_t sum = 0;
  for (const auto& queue : queues) sum += queue->handled.load();
  return sum;
}

}  // namespace

TEST_CASE("fan-out: RunHere handles everything without workers") {
  FanoutPool pool;
  std::vector<std::shared_ptr<LedgerQueue>> queues;
  for (int i = 0; i < 5; ++i) queues.push_back(std::make_shared<LedgerQueue>(&pool.ready(), 2));
  PostTo(queues, 0, 300);
  PostTo(queues, 1, 300);
  CHECK(queues[0]->Depth() == 600);
  CHECK(Handled(queues) == 0);  // posting runs nothing
  pool.RunHere();
  CHECK(Handled(queues) == 5 * 600);
  for (const auto& queue : queues) {
    CHECK(queue->wrong == 0);
    CHECK(queue->Depth() == 0);
    CHECK(queue->ledger.last(0) == 300);
    CHECK(queue->ledger.last(1) == 300);
  }
}

TEST_CASE("fan-out: queues take turns") {
  std::vector<int> log;
  FanoutPool pool;
  auto one = std::make_shared<NamedQueue>(&pool.ready(), 1, &log);
  auto two = std::make_shared<NamedQueue>(&pool.ready(), 2, &log);
  const std::size_t turns = 3;
  for (std::size_t i = 0; i < turns * FanoutPool::kBudget; ++i) {
    one->Post(0);
    two->Post(0);
  }
  pool.RunHere();
  REQUIRE(log.size() == 2 * turns * FanoutPool::kBudget);
  for (std::size_t i = 0; i < log.size(); ++i) {
    CHECK(log[i] == (i / FanoutPool::kBudget % 2 == 0 ? 1 : 2));
  }
}

TEST_CASE("fan-out: a handler may post to its own queue") {
  std::vector<int> log;
  FanoutPool pool;
  auto queue = std::make_shared<NamedQueue>(&pool.ready(), 1, &log);
  queue->Post(1000);
  pool.RunHere();
  CHECK(log.size() == 1001);
}

TEST_CASE("fan-out: a queue without an owner handles its entries and is destroyed") {
  std::vector<int> log;
  FanoutPool pool;
  auto queue = std::make_shared<NamedQueue>(&pool.ready(), 7, &log);
  queue->Post(0);
  queue->Post(0);
  queue.reset();
  CHECK(log.empty());
  pool.RunHere();
  CHECK(log == std::vector<int>{7, 7, -7});
}

TEST_CASE("fan-out: many producers, queues and workers") {
  const std::uint32_t producers = 3;
  const std::uint32_t items = 4000 / kSlower;
  FanoutPool pool;
  REQUIRE(pool.Start(3).ok());
  std::vector<std::shared_ptr<LedgerQueue>> queues;
  for (int i = 0; i < 4; ++i) {
    queues.push_back(std::make_shared<LedgerQueue>(&pool.ready(), producers));
  }
  std::vector<std::thread> threads;
  for (std::uint32_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&queues, producer] { PostTo(queues, producer, items); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Eventually([&] { return Handled(queues) == 4 * producers * items; }));
  pool.Stop();
  for (const auto& queue : queues) {
    CHECK(queue->wrong == 0);
    CHECK(queue->handled == producers * items);
    for (std::uint32_t producer = 0; producer < producers; ++producer) {
      CHECK(queue->ledger.last(producer) == items);
    }
  }
}

TEST_CASE("fan-out: one entry at a time, each on an idle queue") {
  const std::uint32_t items = 5000 / kSlower;
  FanoutPool pool;
  REQUIRE(pool.Start(2).ok());
  auto queue = std::make_shared<LedgerQueue>(&pool.ready(), 1);
  bool woken = true;
  for (std::uint32_t seq = 1; seq <= items && woken; ++seq) {
    queue->Post(MakeItem(0, seq));
    woken = Eventually([&] { return queue->handled == seq; });
  }
  CHECK(woken);
  pool.Stop();
  CHECK(queue->wrong == 0);
}

TEST_CASE("fan-out: Stop handles everything, and the pool can start again") {
  FanoutPool pool;
  for (std::uint32_t round = 1; round <= 10; ++round) {
    std::vector<std::shared_ptr<LedgerQueue>> queues;
    for (int i = 0; i < 8; ++i) queues.push_back(std::make_shared<LedgerQueue>(&pool.ready(), 1));
    REQUIRE(pool.Start(2).ok());
    PostTo(queues, 0, 300);
    pool.Stop();
    CHECK(Handled(queues) == 8 * 300);
    for (const auto& queue : queues) CHECK(queue->wrong == 0);
  }
  pool.Stop();
}

TEST_CASE("fan-out: queues are created and released while workers run") {
  std::atomic<int> alive{0};
  std::atomic<int> handled{0};
  class Brief : public FanoutQueue<int> {
   public:
    Brief(ReadyQueue* ready, std::atomic<int>* alive_now, std::atomic<int>* handled_now)
        : FanoutQueue(ready), alive_(alive_now), handled_(handled_now) {
      ++*alive_;
    }
    ~Brief() override { --*alive_; }

   private:
    void Handle(int&&) override { ++*handled_; }
    std::atomic<int>* const alive_;
    std::atomic<int>* const handled_;
  };
  const int rounds = 5000 / static_cast<int>(kSlower);
  {
    FanoutPool pool;
    REQUIRE(pool.Start(2).ok());
    for (int i = 0; i < rounds; ++i) {
      auto queue = std::make_shared<Brief>(&pool.ready(), &alive, &handled);
      queue->Post(1);
      queue->Post(2);
    }
  }
  CHECK(handled == 2 * rounds);
  CHECK(alive == 0);
}
