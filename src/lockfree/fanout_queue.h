// FanoutQueue<Entry>: what the control loop has to say to many streams, one queue a job (one for
// the job board, a fixed few for the agents' links). Posting costs the same for no listener and for
// a thousand; a fan-out worker does the work.
//
//   class JobFanout : public FanoutQueue<JobEntry> {
//    public:
//     using FanoutQueue::FanoutQueue;
//    private:
//     void Handle(JobEntry&& entry) override;   // serialise once, push into every stream's outbox
//     std::vector<Stream*> streams_;            // touched in Handle only: needs nothing
//   };
//   auto queue = std::make_shared<JobFanout>(&pool.ready());
//   queue->Post(JobEntry{...});
//
// At any time at most one thread is inside Handle of one queue, and what one call did is seen by
// the next, on whatever thread. So Handle owns its members without locks, and every stream fed by
// this queue has one filler at a time. A stream joins and leaves by entries, too. Handle must not
// block: it holds up a worker. It may post, also to its own queue.
//
// Thread safety: Post and Depth from any thread that holds a reference. Entries of one thread are
// handled in the order of its posts; between threads there is no order (the control loop is one
// thread; whatever else posts, such as a stream that has room again, must not rely on one).
// Lifetime: made by make_shared; a ready or running queue holds itself, so letting go of the last
// outside reference loses nothing. Destroyed by whoever lets go last, perhaps a worker.
//
// How it holds together. `count_` is the number of entries posted and not yet done with; it is what
// hands the queue from thread to thread.
//   Post  1. put the entry in   2. count + 1, release; was it 0? 3. then put the queue into ready
//   Run   1. n = min(count, budget), acquire   2. take and handle n   3. count - n, release; is
//         something left? then the caller puts the queue into ready again
//
// 1. One at a time. The queue stands in ready, or a worker is in Run, or somebody is on the way
// from
//    one to the other, exactly while count_ != 0: only the move 0 -> 1 puts it there (Post 2), and
//    Run gives it up only by its own move to 0, its last access, after its last entry was handled.
//    While the count is not 0 every Post sees that and goes away.
// 2. Never more than the count. An entry is visible (Post 1) before it is counted (Post 2). A Run
//    that took it uncounted would subtract more than was added, or give the queue up with entries
//    in it and the next Post would let a second worker in. So Run takes at most n.
// 3. Nothing lost, nothing twice. The n counted entries were put in before they were counted, and
//    Run 1 is in the release sequence of those additions (all changes of count_ are read-modify-
//    writes), so n can be taken. Taking one that is yet to be counted leaves another in its place,
//    as in the mailbox. Run subtracts what it took.
// 4. What the last worker did is seen by the next: Run 3 releases, and the next Run 1 acquires from
//    that release sequence.
//
// It is unbounded; the control loop bounds it by what it says (an entry is a few words: a change
// that many streams should see is posted as a reference to an immutable snapshot).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "lockfree/fanout_pool.h"
#include "lockfree/queue.h"

namespace assay {

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

  // Entries posted and not yet done with; a snapshot.
  std::size_t Depth() const noexcept { return count_.load(std::memory_order_relaxed); }

  bool Run(std::size_t budget) final {
    const std::size_t n = std::min(count_.load(std::memory_order_acquire), budget);
    std::size_t done = 0;
    Entry entry;
    while (done != n && queue_.try_dequeue(entry)) {
      Handle(std::move(entry));
      ++done;
    }
    entry = Entry();  // what it still holds goes while this thread owns the queue
    return count_.fetch_sub(done, std::memory_order_release) != done;
  }

 protected:
  virtual void Handle(Entry&& entry) = 0;

 private:
  Ready* const ready_;
  // The hand-over; see above.
  typename Platform::template Atomic<std::size_t> count_{0};
  typename Platform::template Queue<Entry> queue_{0};
};

}  // namespace assay
