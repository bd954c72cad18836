// Settings of the queue on which every hand-over between threads is built, and the definition of a
// platform.
//
// moodycamel::ConcurrentQueue guarantees two facts, and our headers rely on exactly these:
// 1. It is FIFO per producer (a thread, or a ProducerToken), and no more: items of two producers
//    come out in any order, even if one was enqueued long before the other. It is not linearizable.
// 2. Dequeuing an item synchronises with enqueuing that item, so the consumer sees it complete.
//
// Memory: a queue retains all the blocks it has ever needed at one time until it is destroyed.
// Blocks come from operator new, so running out of memory ends the process there and an enqueue
// never fails.
//
// A platform is the set of primitives from which a structure is built: Atomic, Queue, Event, Ready.
// The tests supply instrumented primitives and run the same code through every interleaving.
#pragma once

#include <concurrentqueue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace assay::lockfree {

// kBlock: items per block. kIndex: initial blocks in a producer's index. kHash: initial slots in
// the table of producing threads, which grows when it is half full. All are powers of two; kIndex
// is at least 2.
template <std::size_t kBlock, std::size_t kIndex, std::size_t kHash>
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static constexpr std::size_t BLOCK_SIZE = kBlock;
  static constexpr std::size_t EXPLICIT_INITIAL_INDEX_SIZE = kIndex;
  static constexpr std::size_t IMPLICIT_INITIAL_INDEX_SIZE = kIndex;
  static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = kHash;
  // A consumer with a token moves to the next producer after this many items of one.
  static constexpr std::uint32_t EXPLICIT_CONSUMER_CONSUMPTION_QUOTA_BEFORE_ROTATE = 8;

  static void* malloc(std::size_t bytes) { return ::operator new(bytes); }
  static void free(void* memory) { ::operator delete(memory); }
};

// Large: for the few queues with much traffic. Small: for the many queues (one per job) that are
// mostly empty.
using LargeQueueTraits = QueueTraits<32, 32, 32>;
using SmallQueueTraits = QueueTraits<8, 2, 4>;

}  // namespace assay::lockfree
