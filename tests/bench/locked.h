// The parts of src/lockfree with a mutex and a deque instead, to compare with in lockfree_bench.
// Contains only what the benchmark needs.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lockfree/fanout_pool.h"
#include "lockfree/outbox.h"

namespace assay::bench::locked {

template <class T>
class Mailbox {
 public:
  [[nodiscard]] bool Post(T&& item) {
    std::unique_lock lock(mutex_);
    const bool was_empty = items_.empty();
    items_.push_back(std::move(item));
    lock.unlock();
    if (was_empty) news_.notify_one();
    return true;
  }
  void Wait(int) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return !items_.empty(); });
  }
  std::size_t Drain(std::vector<T>* out, std::size_t max) {
    std::lock_guard lock(mutex_);
    const std::size_t taken = std::min(max, items_.size());
    for (std::size_t i = 0; i < taken; ++i) {
      out->push_back(std::move(items_.front()));
      items_.pop_front();
    }
    return taken;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<T> items_;
};

// The counterpart of ReadyQueue (queues that wait for a worker) and FanoutPool (the workers).
class Pool {
 public:
  Pool() = default;
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    news_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  base::Status Start(int workers) {
    for (int i = 0; i < workers; ++i) {
      workers_.emplace_back([this] {
        while (std::shared_ptr<lockfree::FanoutTask> task = Take()) RunOne(std::move(task));
      });
    }
    return {};
  }
  void RunHere() {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (tasks_.empty()) return;
      std::shared_ptr<lockfree::FanoutTask> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      RunOne(std::move(task));
    }
  }
  Pool& ready() { return *this; }
  void Push(std::shared_ptr<lockfree::FanoutTask> task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    news_.notify_one();
  }

 private:
  std::shared_ptr<lockfree::FanoutTask> Take() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
    if (tasks_.empty()) return nullptr;
    std::shared_ptr<lockfree::FanoutTask> task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }
  void RunOne(std::shared_ptr<lockfree::FanoutTask> task) {
    if (task->Run(lockfree::FanoutPool::kBudget)) Push(std::move(task));
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::shared_ptr<lockfree::FanoutTask>> tasks_;
  bool stopped_ = false;
  std::vector<std::thread> workers_;
};

template <class Entry>
class FanoutQueue : public lockfree::FanoutTask {
 public:
  explicit FanoutQueue(Pool* ready) : ready_(ready) {}

  void Post(Entry&& entry) {
    std::unique_lock lock(mutex_);
    entries_.push_back(std::move(entry));
    const bool was_idle = !std::exchange(busy_, true);
    lock.unlock();
    if (was_idle) ready_->Push(shared_from_this());
  }
  bool Run(std::size_t budget) final {
    for (std::size_t done = 0;; ++done) {
      std::unique_lock lock(mutex_);
      if (entries_.empty()) return busy_ = false;
      if (done == budget) return true;
      Entry entry = std::move(entries_.front());
      entries_.pop_front();
      lock.unlock();
      Handle(std::move(entry));
    }
  }

 protected:
  virtual void Handle(Entry&& entry) = 0;

 private:
  Pool* const ready_;
  std::mutex mutex_;
  bool busy_ = false;  // in the pool's list, or run by a worker
  std::deque<Entry> entries_;
};

template <class Message>
class Outbox {
 public:
  explicit Outbox(std::uint32_t capacity) : capacity_(capacity) {}

  [[nodiscard]] lockfree::PushResult Push(Message&& message) {
    std::lock_guard lock(mutex_);
    if (failed_) return lockfree::PushResult::kClosed;
    if (messages_.size() == capacity_) {
      starving_ = true;
      return lockfree::PushResult::kFull;
    }
    messages_.push_back(std::move(message));
    return messages_.size() == 1 ? lockfree::PushResult::kStartPump : lockfree::PushResult::kQueued;
  }
  template <class Stream>
  void Pump(Stream* stream) {
    const Message* front = nullptr;
    {
      std::lock_guard lock(mutex_);
      front = &messages_.front();
    }
    stream->Write(*front);
  }
  template <class Stream>
  void WriteDone(bool ok, Stream* stream) {
    std::unique_lock lock(mutex_);
    failed_ = failed_ || !ok;
    messages_.pop_front();
    const bool room = messages_.size() <= capacity_ / 2 && std::exchange(starving_, false);
    const bool more = !messages_.empty();
    lock.unlock();
    if (room) stream->Room();
    if (more) Pump(stream);
  }

 private:
  const std::uint32_t capacity_;
  std::mutex mutex_;
  bool failed_ = false;
  bool starving_ = false;
  std::deque<Message> messages_;
};

}  // namespace assay::bench::locked
