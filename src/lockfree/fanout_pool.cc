#include "lockfree/fanout_pool.h"

#include <cerrno>
#include <string>
#include <utility>

#include "base/thread.h"

namespace assay::lockfree {

ReadyQueue::ReadyQueue() { sem_init(&permits_, 0, 0); }

ReadyQueue::~ReadyQueue() { sem_destroy(&permits_); }

void ReadyQueue::Push(std::shared_ptr<FanoutTask> task) noexcept {
  tasks_.enqueue(std::move(task));
  sem_post(&permits_);
}

std::shared_ptr<FanoutTask> ReadyQueue::Taker::Take() noexcept {
  while (sem_wait(&ready_->permits_) != 0) {
  }
  return TakePermitted();
}

bool ReadyQueue::Taker::TryTake(std::shared_ptr<FanoutTask>* task) noexcept {
  while (sem_trywait(&ready_->permits_) != 0) {
    if (errno == EAGAIN) return false;
  }
  *task = TakePermitted();
  return true;
}

std::shared_ptr<FanoutTask> ReadyQueue::Taker::TakePermitted() noexcept {
  std::shared_ptr<FanoutTask> task;
  while (!ready_->tasks_.try_dequeue(token_, task)) std::this_thread::yield();
  return task;
}

base::Status FanoutPool::Start(int workers) {
  for (int i = 0; i < workers; ++i) {
    std::thread worker;
    base::Status started = base::StartThread(
        &worker, "fan-out worker " + std::to_string(i + 1) + " of " + std::to_string(workers),
        "fanout-" + std::to_string(i), [this] { Work(); });
    if (!started.ok()) {
      Stop();
      return started;
    }
    workers_.push_back(std::move(worker));
  }
  return base::Status::Ok();
}

void FanoutPool::Work() {
  ReadyQueue::Taker taker(&ready_);
  for (;;) {
    std::shared_ptr<FanoutTask> task = taker.Take();
    if (task == nullptr) return;
    if (task->Run(kBudget)) ready_.Push(std::move(task));
  }
}

void FanoutPool::Stop() {
  // The null pointer may overtake tasks (there is no order between the threads that push), so this
  // thread handles the remaining tasks after all workers have exited.
  for (std::size_t i = 0; i < workers_.size(); ++i) ready_.Push(nullptr);
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  RunHere();
}

void FanoutPool::RunHere() {
  ReadyQueue::Taker taker(&ready_);
  std::shared_ptr<FanoutTask> task;
  while (taker.TryTake(&task)) {
    if (task->Run(kBudget)) ready_.Push(std::move(task));
    task.reset();
  }
}

}  // namespace assay::lockfree
