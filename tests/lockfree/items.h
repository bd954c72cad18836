// Items for the stress tests. A Ledger detects lost, torn, duplicated and reordered items.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "lockfree/queue.h"

namespace assay::lockfree {

// Blocks of two items, so that every second item crosses a block boundary.
using TinyQueueTraits = QueueTraits<2, 2, 2>;

struct Item {
  std::uint32_t producer = 0;
  std::uint32_t seq = 0;  // 1, 2, 3, ... per producer
  std::uint64_t hash = 0;
  // Owned memory: using an item twice is a double free, and losing it is a leak.
  std::unique_ptr<std::uint64_t> body;
};

inline std::uint64_t HashOf(std::uint32_t producer, std::uint32_t seq) {
  std::uint64_t hash = (std::uint64_t{producer} << 32 | seq) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

inline Item MakeItem(std::uint32_t producer, std::uint32_t seq) {
  const std::uint64_t hash = HashOf(producer, seq);
  return {producer, seq, hash, std::make_unique<std::uint64_t>(hash)};
}

// Thread safety: one thread at a time.
class Ledger {
 public:
  explicit Ledger(std::size_t producers) : last_(producers, 0) {}

  // False if the item is torn, or is not its producer's next item.
  bool Enter(const Item& item) {
    ++entered_;
    if (item.producer >= last_.size()) return false;
    const bool whole = item.hash == HashOf(item.producer, item.seq) && item.body != nullptr &&
                       *item.body == item.hash;
    const bool next = item.seq == last_[item.producer] + 1;
    last_[item.producer] = item.seq;
    return whole && next;
  }
  std::uint32_t last(std::size_t producer) const { return last_[producer]; }
  std::size_t entered() const { return entered_; }

 private:
  std::vector<std::uint32_t> last_;
  std::size_t entered_ = 0;
};

inline bool Eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Divisor for the numbers of items: instrumented code runs about ten times slower.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t kSlower = 5;
#else
constexpr std::uint32_t kSlower = 1;
#endif

}  // namespace assay::lockfree
