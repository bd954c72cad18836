// A thread for tasks that may take milliseconds or wait for a disk (large messages, rank tables,
// queries), so that gRPC's threads and the control loop never do.
//
// Thread safety: Post and Depth from any thread; Start and Stop from one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "base/status.h"
#include "lockfree/mailbox.h"

namespace assay::control {

class TaskThread {
 public:
  TaskThread() = default;
  ~TaskThread() { Stop(); }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // name: the thread's, at most 15 characters. Fails when the system cannot create a thread.
  base::Status Start(const std::string& name);

  // Tasks posted by one thread run in the order of posting. A task must not throw. After Stop,
  // tasks are dropped.
  void Post(std::function<void()> task) { (void)tasks_.Post(std::move(task)); }
  std::size_t Depth() const { return tasks_.Depth(); }

  // Runs all posted tasks, then ends the thread.
  void Stop();

 private:
  void Work();

  lockfree::Mailbox<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace assay::control
