// FanoutQueue<Entry>: carries entries from the control loop to many streams. There is one queue per
// job, one for the job board, and a fixed few for the agents' links. Posting costs the same for no
// stream and for a thousand; a fan-out worker does the work.
//
//   class JobFanout : public FanoutQueue<JobEntry> {
//    public:
//     using FanoutQueue::FanoutQueue;
//    private:
//     void Handle(JobEntry&& entry) override;   // serialise once, push into every stream's outbox
//     std::vector<Stream*> streams_;            // used in Handle only: needs no lock
//   };
//   auto queue = std::make_shared<JobFanout>(&pool.ready());
//   queue->Post(JobEntry{...});
//
// At any time at most one thread is inside Handle of one queue, and each call sees everything that
// the previous call did, on whatever thread. So Handle uses its members without locks, and every
// stream that this queue feeds has one filler at a time. Streams also join and leave by entries.
// Handle must not block, because that blocks a worker. It may post, also to its own queue.
//
// Thread safety: Post and Depth from any thread that holds a reference. The entries of one thread
// are handled in the order of its posts. There is no order between threads: the control loop is one
// thread, and any other poster, such as a stream that has room again, must not rely on an order.
// Lifetime: create it with make_shared. A ready or running queue holds a reference to itself, so
// releasing the last outside reference loses no entry. The thread that releases the last reference
// destroys it, perhaps a worker.
// Bounds: none. The control loop limits what it posts, and an entry is a few words: a change for
// many streams is posted as a reference to an immutable snapshot.
//
// Why it is correct. `count_` is the number of entries posted and not yet handled; it hands the
// queue from thread to thread.
//   Post  1. enqueue the entry
//         2. count + 1, release
//         3. if the count was 0: push the queue into ready
//   Run   1. n = min(count, budget), acquire
//         2. dequeue and handle n entries
//         3. count - n, release; if entries are left, the caller pushes the queue into ready again
//
// 1. One worker at a time. The queue is in ready, or a worker is in Run, or a thread is moving it
//    from one to the other, exactly while count_ != 0: only the change 0 -> 1 puts it into ready
//    (Post 2), and Run gives it up only with its own change to 0, which is its last access, after
//    its last entry was handled. While the count is not 0, no Post pushes the queue.
// 2. Run never takes more than the count. An entry is visible (Post 1) before it is counted (Post
//    2). A Run that took an uncounted entry would subtract more than was added, or give up the
//    queue with entries in it, and the next Post would let a second worker in. So Run takes at most
//    n.
// 3. No entry is lost or handled twice. The n counted entries were enqueued before they were
//    counted, and Run 1 reads from the release sequence of those additions (all changes of count_
//    are read-modify-writes), so n entries can be dequeued. Taking an entry that is not counted yet
//    leaves a counted one in its place, as in the mailbox. Run subtracts the number it took.
// 4. Each worker sees what the previous one did: Run 3 releases, and the next Run 1 acquires from
//    that release sequence.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "lockfree/fanout_pool.h"
#include "lockfree/queue.h"

namespace assay::lockfree {

template <class Traits = SmallQueueTraits>
struct FanoutPlatform {
  template <class U>
  using Atomic = std::atomic<U>;
  template <class U>
  using Queue = moodycamel::ConcurrentQueue<U, Traits>;
  using Ready = ReadyQueue;
};

template <class Entry, class Platform = FanoutPlatform<>>
class FanoutQueue : public FanoutTask {
  static_assert(std::is_nothrow_move_constructible_v<Entry> &&
                    std::is_nothrow_move_assignable_v<Entry> &&
                    std::is_default_constructible_v<Entry>,
                "an entry moves once per hop: keep it small, with its body behind a pointer");

 public:
  using Ready = typename Platform::Ready;

  explicit FanoutQueue(Ready* ready) : ready_(ready) {}

  // Never blocks, never runs Handle.
  void Post(Entry&& entry) noexcept {
    queue_.enqueue(std::move(entry));
    if (count_.fetch_add(1, std::memory_order_release) == 0) ready_->Push(shared_from_this());
  }

  // A snapshot of the entries posted and not yet subtracted. A running Run() subtracts at its end,
  // so the number may include up to `budget` entries that it has already handled.
  std::size_t Depth() const noexcept { return count_.load(std::memory_order_relaxed); }

  bool Run(std::size_t budget) final {
    const std::size_t n = std::min(count_.load(std::memory_order_acquire), budget);
    std::size_t done = 0;
    Entry entry;
    while (done != n && queue_.try_dequeue(entry)) {
      Handle(std::move(entry));
      ++done;
    }
    entry = Entry();  // destroys the last entry while this thread still owns the queue
    return count_.fetch_sub(done, std::memory_order_release) != done;
  }

 protected:
  virtual void Handle(Entry&& entry) = 0;

 private:
  Ready* const ready_;
  // Hands the queue from thread to thread; see above.
  typename Platform::template Atomic<std::size_t> count_{0};
  typename Platform::template Queue<Entry> queue_{0};
};

}  // namespace assay::lockfree
