// The fan-out workers: a few threads that work off whatever fan-out queue has become ready.
//
// A FanoutTask is a queue seen from the pool (fanout_queue.h has the template). It is ready when it
// has work and nobody is at it; then it stands in the ReadyQueue exactly once. A worker takes it,
// lets it work through a budget of entries and puts it back if more is left, so a busy queue
// takes turns with the others.
//
//   FanoutPool pool;
//   Status status = pool.Start(2);
//   auto queue = std::make_shared<JobFanout>(&pool.ready());   // a FanoutQueue
//   queue->Post(entry);
//   ...
//   pool.Stop();   // when nobody posts any more: works off everything, then returns
//
// Lifetime: the pool outlives every queue made for it. A ready entry and a worker hold a queue by
// shared_ptr, so its owner may let go of it at any time: what was posted is still handled.
#pragma once

#include <semaphore.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"
#include "lockfree/queue.h"

namespace assay {

class FanoutTask : public std::enable_shared_from_this<FanoutTask> {
 public:
  virtual ~FanoutTask() = default;

  // Handles up to budget entries. True if the caller still has the task and must put it back into
  // the ready queue; after false it may already be with another worker.
  // REQUIRES: the caller took this task from the ready queue.
  virtual bool Run(std::size_t budget) = 0;
};

// Tasks that wait for a worker. Many put in, many take out.
//
// Nothing is lost and nobody sleeps beside work: Push puts the task in and then posts one permit;
// a taker needs a permit before it looks. So there are never more takers with a permit than tasks
// in the queue, and each finds one. (A look can fail for a moment while another taker is in the
// middle of one; the permit keeps and the taker looks again.)
// Fair: takers rotate through the putting threads, a few tasks of each (see QueueTraits), so a task
// that a worker puts back is not passed over for ever by those of a busy control loop.
//
// Thread safety: any thread. A Taker: one thread at a time, and not beyond the queue's life.
class ReadyQueue {
  using Tasks = moodycamel::ConcurrentQueue<std::shared_ptr<FanoutTask>, LargeQueueTraits>;

 public:
  ReadyQueue();
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  // An empty pointer is an order to one taker to leave.
  void Push(std::shared_ptr<FanoutTask> task) noexcept;

  class Taker {
   public:
    explicit Taker(ReadyQueue* ready) : ready_(ready), token_(ready->tasks_) {}
    // Sleeps until there is one.
    std::shared_ptr<FanoutTask> Take() noexcept;
    // False at once if there is none.
    bool TryTake(std::shared_ptr<FanoutTask>* task) noexcept;

   private:
    std::shared_ptr<FanoutTask> TakePermitted() noexcept;

    ReadyQueue* const ready_;
    moodycamel::ConsumerToken token_;
  };

 private:
  Tasks tasks_{0};
  sem_t permits_;
};

// Thread safety: Start, Stop, RunHere and the destructor from one thread.
class FanoutPool {
 public:
  // Entries a queue may handle before others get their turn: enough to make the hand-over cheap,
  // few enough that 64 subscribers of one job never delay another job by more than milliseconds.
  static constexpr std::size_t kBudget = 64;

  FanoutPool() = default;
  ~FanoutPool() { Stop(); }
  FanoutPool(const FanoutPool&) = delete;
  FanoutPool& operator=(const FanoutPool&) = delete;

  // Fails when the system gives no thread; then none runs.
  Status Start(int workers);

  // Sends the workers home, then works off on this thread whatever is still ready, also what the
  // handlers post meanwhile. May be called again.
  // REQUIRES: no other thread posts to this pool's queues any more.
  void Stop();

  // Works off what is ready on the calling thread, beside the workers or without any.
  void RunHere();

  ReadyQueue& ready() { return ready_; }

 private:
  void Work();

  ReadyQueue ready_;
  std::vector<std::thread> workers_;
};

}  // namespace assay
