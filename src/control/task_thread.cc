#include "control/task_thread.h"

#include <utility>
#include <vector>

#include "base/memory.h"
#include "base/thread.h"

namespace assay::control {
namespace {

constexpr int kLookMs = 1000;  // between checks whether memory is due to be returned

}  // namespace

base::Status TaskThread::Start(const std::string& name) {
  return base::StartThread(&thread_, name, name, [this] { Work(); });
}

void TaskThread::Stop() {
  if (!thread_.joinable()) return;
  tasks_.Close();
  thread_.join();
}

void TaskThread::Work() {
  std::vector<std::function<void()>> batch;
  base::MemoryTrimmer memory;
  while (!tasks_.Drained()) {
    tasks_.Wait(memory.pending() ? kLookMs : -1);
    batch.clear();
    tasks_.Drain(&batch, 16);
    for (std::function<void()>& task : batch) {
      task();
      task = nullptr;  // frees its captures before the next task runs
    }
    if (!batch.empty()) memory.Worked();
    if (memory.Due()) base::ReturnFreedMemory();
  }
}

}  // namespace assay::control
