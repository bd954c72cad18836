// One thread that does what may take milliseconds or wait for a disk, so that gRPC's threads and
// the control loop never do: large messages, rank tables, queries.
//
// Thread safety: Post and Depth from any thread; Start and Stop from one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "base/status.h"
#include "lockfree/mailbox.h"

namespace assay {

class Worker {
 public:
  Worker() = default;
  ~Worker() { Stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // name: of the thread, at most 15 characters. Fails when the system gives no thread.
  Status Start(const std::string& name);

  // Tasks of one thread run in order. A task must not throw. After Stop: dropped.
  void Post(std::function<void()> task) { (void)tasks_.Post(std::move(task)); }
  std::size_t Depth() const { return tasks_.Depth(); }

  // Runs what was posted, then ends.
  void Stop();

 private:
  void Work();

  Mailbox<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace assay
