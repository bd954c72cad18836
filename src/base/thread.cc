#include "base/thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

namespace assay::base {

Status StartThread(std::thread* thread, const std::string& what, const std::string& name,
                   std::function<void()> work) {
  try {
    *thread = std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return InternalError("cannot start a thread for " + what + ": " + error.what() +
                         "; raise the limit on threads (ulimit -u, TasksMax=)");
  }
  pthread_setname_np(thread->native_handle(), name.c_str());
  return Status::Ok();
}

Status StartDetachedThread(const std::string& what, const std::string& name,
                           std::function<void()> work) {
  std::thread thread;
  Status status = StartThread(&thread, what, name, std::move(work));
  if (status.ok()) thread.detach();
  return status;
}

}  // namespace assay::base
