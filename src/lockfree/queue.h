// The queue below every hand-over between threads, and what a platform is.
//
// moodycamel::ConcurrentQueue is FIFO per producer (a thread, or a ProducerToken), and only that:
// items of two producers come out in any order, even if one was put in long before the other. It
// is not linearizable. What a consumer sees it sees whole: taking an item synchronises with the
// putting in of that item. Our own headers build on exactly these two facts.
//
// Memory: a queue keeps the blocks of its highest tide until it is destroyed. Blocks come from
// operator new, so that running out of memory ends the process there and an enqueue never fails.
//
// A platform is the set of primitives a structure is built from: Atomic, Queue, Event, Ready. The
// tests put instrumented ones there and run this very code through every interleaving.
#pragma once

#include <concurrentqueue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace assay {

// kBlock: items a block. kIndex: blocks a producer's index starts with. kHash: slots of the table
// of producing threads at the start (grows when half full). All powers of two, kIndex at least 2.
template <std::size_t kBlock, std::size_t kIndex, std::size_t kHash>
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static constexpr std::size_t BLOCK_SIZE = kBlock;
  static constexpr std::size_t EXPLICIT_INITIAL_INDEX_SIZE = kIndex;
  static constexpr std::size_t IMPLICIT_INITIAL_INDEX_SIZE = kIndex;
  static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = kHash;
  // A consumer with a token moves on to the next producer after so many items of one.
  static constexpr std::uint32_t EXPLICIT_CONSUMER_CONSUMPTION_QUOTA_BEFORE_ROTATE = 8;

  static void* malloc(std::size_t bytes) { return ::operator new(bytes); }
  static void free(void* memory) { ::operator delete(memory); }
};

// For the few queues that carry much, and for the many (one a job) that are mostly empty.
using LargeQueueTraits = QueueTraits<32, 32, 32>;
using SmallQueueTraits = QueueTraits<8, 2, 4>;

}  // namespace assay
