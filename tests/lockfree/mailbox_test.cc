#include "lockfree/mailbox.h"

#include <poll.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/lockfree/items.h"

using namespace assay::lockfree;

namespace {

using TinyMailbox = Mailbox<Item, MailboxPlatform<TinyQueueTraits>>;

bool Readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

void PostAll(TinyMailbox* mailbox, std::uint32_t producer, std::uint32_t items) {
  for (std::uint32_t seq = 1; seq <= items; ++seq) {
    if (!mailbox->Post(MakeItem(producer, seq))) std::abort();
  }
}

// Takes `total` items and returns the first error, or an empty string.
std::string TakeAll(TinyMailbox* mailbox, Ledger* ledger, std::size_t total, std::size_t max,
                    bool polls) {
  std::vector<Item> batch;
  while (ledger->entered() < total) {
    pollfd entry{mailbox->wake_fd(), POLLIN, 0};
    const bool woken = polls ? poll(&entry, 1, 60000) == 1 : mailbox->Wait(60000);
    if (!woken) return "not woken after " + std::to_string(ledger->entered()) + " items";
    batch.clear();
    if (mailbox->Drain(&batch, max) > max) return "too many at once";
    for (const Item& item : batch) {
      if (!ledger->Enter(item)) {
        return "wrong item " + std::to_string(item.producer) + ":" + std::to_string(item.seq);
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("mailbox: one thread can post and drain") {
  TinyMailbox mailbox;
  Ledger ledger(3);
  for (std::uint32_t producer = 0; producer < 3; ++producer) PostAll(&mailbox, producer, 100);
  CHECK(mailbox.Depth() == 300);
  CHECK(TakeAll(&mailbox, &ledger, 300, 7, true).empty());
  CHECK(mailbox.Depth() == 0);
}

TEST_CASE("mailbox: the descriptor is readable while an item waits") {
  Mailbox<int> mailbox;
  std::vector<int> out;
  CHECK_FALSE(Readable(mailbox.wake_fd()));
  CHECK_FALSE(mailbox.Wait(0));
  CHECK_FALSE(mailbox.Wait(1));
  for (int i = 0; i < 3; ++i) CHECK(mailbox.Post(std::move(i)));
  CHECK(Readable(mailbox.wake_fd()));
  CHECK(mailbox.Wait(-1));
  CHECK(mailbox.Drain(&out, 2) == 2);
  CHECK(Readable(mailbox.wake_fd()));  // one is left
  CHECK(mailbox.Wait(0));
  CHECK(mailbox.Drain(&out, 2) == 1);
  CHECK_FALSE(Readable(mailbox.wake_fd()));
  CHECK(mailbox.Drain(&out, 2) == 0);
  CHECK(out == std::vector<int>{0, 1, 2});
}

TEST_CASE("mailbox: a closed mailbox refuses posts and still returns its items") {
  Mailbox<std::unique_ptr<int>> mailbox;
  std::vector<std::unique_ptr<int>> out;
  CHECK(mailbox.Post(std::make_unique<int>(1)));
  mailbox.Close();
  auto refused = std::make_unique<int>(2);
  CHECK_FALSE(mailbox.Post(std::move(refused)));
  CHECK(refused != nullptr);  // untouched
  CHECK_FALSE(mailbox.Drained());
  CHECK(Readable(mailbox.wake_fd()));
  CHECK(mailbox.Drain(&out, 10) == 1);
  CHECK(mailbox.Drained());
  CHECK(mailbox.Wait(-1));  // returns true when drained
  mailbox.Close();
  CHECK(mailbox.Drained());
}

TEST_CASE("mailbox: Close wakes a sleeping consumer") {
  Mailbox<int> mailbox;
  std::thread closer([&] { mailbox.Close(); });
  CHECK(mailbox.Wait(60000));
  CHECK(mailbox.Drained());
  closer.join();
}

TEST_CASE("mailbox: its destructor destroys the items that were not taken") {
  auto body = std::make_shared<int>(1);
  {
    Mailbox<std::shared_ptr<int>> mailbox;
    for (int i = 0; i < 100; ++i) CHECK(mailbox.Post(std::shared_ptr<int>(body)));
    CHECK(body.use_count() == 101);
  }
  CHECK(body.use_count() == 1);
}

TEST_CASE("mailbox: many producers, no item lost, duplicated or reordered") {
  const bool polls = GENERATE(false, true);
  const std::size_t max = GENERATE(as<std::size_t>(), 1, 256);
  CAPTURE(polls, max);
  const std::uint32_t producers = 4;
  const std::uint32_t items = 20000 / kSlower;
  TinyMailbox mailbox;
  Ledger ledger(producers);
  std::vector<std::thread> threads;
  for (std::uint32_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&mailbox, producer] { PostAll(&mailbox, producer, items); });
  }
  CHECK(TakeAll(&mailbox, &ledger, producers * items, max, polls).empty());
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t producer = 0; producer < producers; ++producer) {
    CHECK(ledger.last(producer) == items);
  }
  CHECK(mailbox.Depth() == 0);
}

TEST_CASE("mailbox: one post at a time, each on an empty mailbox") {
  const int rounds = 5000 / static_cast<int>(kSlower);
  Mailbox<int> there;
  Mailbox<int> back;
  std::thread echo([&] {
    std::vector<int> batch;
    while (!there.Drained()) {
      there.Wait(-1);
      batch.clear();
      there.Drain(&batch, 10);
      for (int value : batch) {
        if (!back.Post(std::move(value))) std::abort();
      }
    }
  });
  std::vector<int> batch;
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    int value = i;
    if (!there.Post(std::move(value)) || !back.Wait(60000)) ++wrong;
    batch.clear();
    back.Drain(&batch, 10);
    if (batch != std::vector<int>{i}) ++wrong;
  }
  there.Close();
  echo.join();
  CHECK(wrong == 0);
}

TEST_CASE("mailbox: closed during posts, exactly the accepted items arrive") {
  for (int round = 0; round < 40 / static_cast<int>(kSlower); ++round) {
    const std::uint32_t producers = 3;
    TinyMailbox mailbox;
    Ledger ledger(producers);
    std::vector<std::uint32_t> accepted(producers, 0);
    std::vector<std::thread> threads;
    for (std::uint32_t producer = 0; producer < producers; ++producer) {
      threads.emplace_back([&mailbox, &accepted, producer] {
        while (mailbox.Post(MakeItem(producer, accepted[producer] + 1))) ++accepted[producer];
      });
    }
    std::vector<Item> batch;
    int wrong = 0;
    while (!mailbox.Drained()) {
      if (!mailbox.Wait(60000)) ++wrong;
      batch.clear();
      mailbox.Drain(&batch, 64);
      for (const Item& item : batch) wrong += ledger.Enter(item) ? 0 : 1;
      if (ledger.entered() > 200) mailbox.Close();
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    for (std::uint32_t producer = 0; producer < producers; ++producer) {
      CHECK(ledger.last(producer) == accepted[producer]);
    }
  }
}

TEST_CASE("mailbox: a Producer preserves its order across threads") {
  const std::uint32_t items = 10000 / kSlower;
  TinyMailbox mailbox;
  TinyMailbox::Producer producer(&mailbox);
  std::atomic<std::uint32_t> next{1};
  std::vector<std::thread> threads;
  for (std::uint32_t self = 0; self < 2; ++self) {
    threads.emplace_back([&, self] {
      for (;;) {
        const std::uint32_t seq = next.load(std::memory_order_acquire);
        if (seq > items) return;
        if (seq % 2 != self) {
          std::this_thread::yield();
          continue;
        }
        if (!producer.Post(MakeItem(0, seq))) std::abort();
        next.store(seq + 1, std::memory_order_release);
      }
    });
  }
  Ledger ledger(1);
  CHECK(TakeAll(&mailbox, &ledger, items, 256, false).empty());
  for (std::thread& thread : threads) thread.join();
}
