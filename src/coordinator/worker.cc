#include "coordinator/worker.h"

#include <pthread.h>

#include <system_error>
#include <utility>
#include <vector>

#include "base/memory.h"

namespace assay {
namespace {

constexpr int kLookMs = 1000;  // between looks whether memory is to be given back

}  // namespace

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
  MemoryKeeper memory;
  while (!tasks_.Drained()) {
    tasks_.Wait(memory.owes() ? kLookMs : -1);
    batch.clear();
    tasks_.Drain(&batch, 16);
    for (std::function<void()>& task : batch) {
      task();
      task = nullptr;  // what it held goes before the next one runs
    }
    if (!batch.empty()) memory.Worked();
    if (memory.Due()) GiveBackMemory();
  }
}

}  // namespace assay
