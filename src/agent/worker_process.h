// The agent's end of a worker process (driver/worker_main.h): starts it, exchanges messages with
// it, kills it, and reports how it ended.
//
//   auto worker = WorkerProcess::Start(spec);           // error: could not be started
//   (*worker)->Send(driver::OpenDevice{3});
//   poll or epoll (*worker)->poll_fd() for reading, level-triggered; when it is ready:
//   for (WorkerEvent& event : (*worker)->Advance()) ...
//
// The last event is always WorkerExited, exactly once: the process has been reaped, and everything
// it had started in its process group has been killed. No event follows it.
//
// The object drains the worker's standard output and standard error and keeps only the last
// kCapturedBytes. It kills a worker that sends an invalid message.
//
// Thread safety: none; one event loop uses it. It has no thread of its own, and only its destructor
// waits.
// Lifetime: destroy it after WorkerExited. Destroying it earlier kills the process and waits for
// it, at most a second for a process that is stuck in the kernel.
//
// Requirements on the process around it:
// - The thread that calls Start lives as long as its workers are needed: the kernel kills a worker
//   when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)).
// - The process does not ignore SIGCHLD, and no thread waits for any child (waitpid(-1)): this
//   object reaps its worker.
// - Start ignores SIGPIPE for the whole process, because a worker may die while the agent writes to
//   it.
// Needs Linux 5.4 (waiting by pidfd).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "driver/message.h"

namespace assay::agent {

struct WorkerSpec {
  driver::Options driver;
  // The default still names the running program after a newer one has replaced its file.
  std::string program = "/proc/self/exe";
  // NAME=value, in addition to this process's environment.
  std::vector<std::string> env;
};

struct WorkerExited {
  std::string how;  // "signal 11", "exit status 7"; for people
  int signal = 0;   // 0: it exited by itself
  int status = 0;   // its exit status, where signal == 0
  // The agent killed it: by Kill(), or because of an invalid message. It may still have ended in
  // another way first.
  bool killed = false;
  std::string call;       // the unfinished call: open, aic, p2p preparation, p2p, ...; empty: none
  std::string bad_frame;  // what was wrong with the invalid message, if it sent one
  std::string last_line;  // the last line on its standard output or error, made printable
  std::string output;     // the last kCapturedBytes of both, as received
};

using WorkerEvent =
    std::variant<driver::DevicesListed, driver::DeviceOpened, driver::OpStarted, driver::OpProgress,
                 driver::OpDone, driver::P2pPrepared, driver::MadeSafe, WorkerExited>;

class WorkerProcess {
 public:
  static constexpr std::size_t kCapturedBytes = 4096;
  static constexpr std::size_t kUnsentBytesMax = std::size_t{4} << 20;

  // Starts a worker and sends it the driver options. The error names the program and the reason.
  static base::Result<std::unique_ptr<WorkerProcess>> Start(const WorkerSpec& spec);

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  // One descriptor for all of the worker's: readable when Advance() has something to do. Valid and
  // unchanged as long as the object lives.
  int poll_fd() const;

  // Reads and writes what it can without waiting, at most about 100 KB per call; poll_fd() stays
  // readable while more is left.
  std::vector<WorkerEvent> Advance();

  // Queues a message. kExhausted: more than kUnsentBytesMax would wait for the worker to read it.
  // For a worker that is dying the call succeeds and has no effect.
  base::Status Send(const driver::ToWorker& message);

  // Sends SIGKILL to the process and its group. WorkerExited follows; may be called again.
  void Kill();

  bool exited() const;
  pid_t pid() const;

 private:
  class Impl;
  explicit WorkerProcess(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::agent
