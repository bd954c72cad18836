// The agent's end of a worker process (driver/worker_main.h): starts it, talks to it, ends it,
// tells how it ended. Used from one event loop; has no thread, never waits.
//
//   auto worker = WorkerProcess::Start(spec);           // error: could not be started
//   (*worker)->Send(driver::OpenDevice{3});
//   poll or epoll (*worker)->poll_fd() for reading, level-triggered; when it is ready:
//   for (WorkerEvent& event : (*worker)->Advance()) ...
//
// The last event is always WorkerExited, once: the process is reaped and whatever it had started in
// its process group has been killed. Nothing that the worker says comes after it. Destroy the
// object then; one that is destroyed earlier kills its process and waits for it, which for a
// process stuck in the kernel is given up after a second.
//
// What a worker writes to its standard output and standard error is read and dropped but for the
// last kCapturedBytes. A worker that sends what is no message is killed.
//
// Rules of the process this runs in:
// - Start is called by a thread that lives as long as the process wants its workers: the kernel
//   kills a worker when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)).
// - SIGCHLD is not ignored and nobody waits for any child (waitpid(-1)): workers are reaped here.
// - Start ignores SIGPIPE for the whole process: a worker may die while it is written to.
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

namespace assay {

struct WorkerSpec {
  driver::Options driver;
  std::string program = "/proc/self/exe";  // also right after the file was replaced by a newer one
  std::vector<std::string> env;            // NAME=value, in addition to this process's environment
};

struct WorkerExited {
  std::string how;        // "signal 11", "exit status 7"; for people
  int signal = 0;         // 0: it exited
  int status = 0;         // where signal == 0
  bool killed = false;    // by Kill(), or because of what it sent; how it ended may differ still
  std::string call;       // what it was doing: open, aic, p2p preparation, p2p, ...; "": nothing
  std::string bad_frame;  // why it was killed, when it sent what is no message
  std::string last_line;  // the last line it wrote to standard output or error, printable
  std::string output;     // the last kCapturedBytes of both, as they came
};

using WorkerEvent =
    std::variant<driver::DevicesListed, driver::DeviceOpened, driver::OpStarted, driver::OpProgress,
                 driver::OpDone, driver::P2pPrepared, driver::MadeSafe, WorkerExited>;

class WorkerProcess {
 public:
  static constexpr std::size_t kCapturedBytes = 4096;
  static constexpr std::size_t kUnsentBytesMax = std::size_t{4} << 20;

  // A worker that has been told which driver to use. The error names the program and the reason.
  static Result<std::unique_ptr<WorkerProcess>> Start(const WorkerSpec& spec);

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  // One descriptor that stands for all of the worker's: ready for reading when Advance() has
  // something to do. Valid, and the same, as long as the object lives.
  int poll_fd() const;

  // Does what can be done without waiting, at most some 100 KB of it at a time; what is left keeps
  // poll_fd() ready.
  std::vector<WorkerEvent> Advance();

  // Queues a message. kExhausted: the worker has not read kUnsentBytesMax of what it was sent.
  // To a worker that is dying it is ok and has no effect.
  Status Send(const driver::ToWorker& message);

  // SIGKILL to the process and its group. WorkerExited follows; may be called again.
  void Kill();

  bool exited() const;
  pid_t pid() const;

 private:
  class Impl;
  explicit WorkerProcess(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
