#include "coordinator/worker.h"

#include <pthread.h>

#include <system_error>
#include <utility>
#include <vector>

namespace assay {

Status Worker::Start(const std::string& name) {
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error& error) {
    return InternalError("the system gives no thread for " + name + ": " + error.what());
  }
  pthread_setname_np(thread_.native_handle(), name.c_str());
  return Status::Ok();
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  tasks_.Close();
  thread_.join();
}

void Worker::Work() {
  std::vector<std::function<void()>> batch;
  while (!tasks_.Drained()) {
    tasks_.Wait(-1);
    batch.clear();
    tasks_.Drain(&batch, 16);
    for (std::function<void()>& task : batch) {
      task();
      task = nullptr;  // what it held goes before the next one runs
    }
  }
}

}  // namespace assay
