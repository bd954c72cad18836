// The fan-out workers: a few threads that process the fan-out queues that are ready.
//
// A FanoutTask is a queue as the pool sees it (fanout_queue.h has the template). It is ready while
// it has entries and no worker is processing it; then it is in the ReadyQueue exactly once. A
// worker takes it, lets it handle a budget of entries and puts it back if more are left, so a busy
// queue takes turns with the others.
//
// Thread safety: see each class.
//
//   FanoutPool pool;
//   Status status = pool.Start(2);
//   auto queue = std::make_shared<JobFanout>(&pool.ready());   // a FanoutQueue
//   queue->Post(entry);
//   ...
//   pool.Stop();   // after the last Post: handles every remaining entry, then returns
//
// Lifetime: the pool outlives every queue made for it. The ReadyQueue and the workers hold a queue
// by shared_ptr, so its owner may release it at any time: the posted entries are still handled.
#pragma once

#include <semaphore.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"
#include "lockfree/queue.h"

namespace assay::lockfree {

class FanoutTask : public std::enable_shared_from_this<FanoutTask> {
 public:
  virtual ~FanoutTask() = default;

  // Handles up to budget entries. True: the caller still owns the task and must put it back into
  // the ready queue. False: another worker may already own it.
  // REQUIRES: the caller took this task from the ready queue.
  virtual bool Run(std::size_t budget) = 0;
};

// The tasks that wait for a worker: a queue with many producers and many consumers.
//
// Invariants:
// 1. No task is lost, and no taker sleeps while a task waits: Push enqueues the task and then posts
//    one permit; a taker takes a permit before it dequeues. So there are never more takers with a
//    permit than tasks in the queue, and each taker gets one. (A dequeue can fail while another
//    taker is in the middle of one; the taker keeps its permit and tries again.)
// 2. It is fair: takers rotate through the threads that push, a few tasks of each (see
//    QueueTraits), so a busy control loop's tasks cannot starve a task that a worker puts back.
//
// Thread safety: any thread. A Taker: one thread at a time.
// Lifetime: the queue outlives its Takers.
class ReadyQueue {
  using Tasks = moodycamel::ConcurrentQueue<std::shared_ptr<FanoutTask>, LargeQueueTraits>;

 public:
  ReadyQueue();
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  // A null pointer tells the one taker that receives it to exit.
  void Push(std::shared_ptr<FanoutTask> task) noexcept;

  class Taker {
   public:
    explicit Taker(ReadyQueue* ready) : ready_(ready), token_(ready->tasks_) {}
    // Sleeps until there is a task.
    std::shared_ptr<FanoutTask> Take() noexcept;
    // Returns false immediately if there is no task.
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
  // How many entries a queue may handle before the others get their turn: enough to make the
  // hand-over cheap, few enough that 64 subscribers of one job never delay another job by more than
  // milliseconds.
  static constexpr std::size_t kBudget = 64;

  FanoutPool() = default;
  ~FanoutPool() { Stop(); }
  FanoutPool(const FanoutPool&) = delete;
  FanoutPool& operator=(const FanoutPool&) = delete;

  // Fails if a thread cannot be started; then no worker runs.
  base::Status Start(int workers);

  // Ends the workers, then handles on this thread all entries that are left, including those that
  // handlers post meanwhile. May be called again.
  // REQUIRES: no other thread posts to this pool's queues any more.
  void Stop();

  // Handles what is ready on the calling thread, in addition to the workers or without any.
  void RunHere();

  ReadyQueue& ready() { return ready_; }

 private:
  void Work();

  ReadyQueue ready_;
  std::vector<std::thread> workers_;
};

}  // namespace assay::lockfree
