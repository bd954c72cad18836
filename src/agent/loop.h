// The agent's single thread: collects what has happened as one batch, steps it through the
// supervisor, commits the batch's records to the spool, and then performs the supervisor's effects.
//
// Invariants:
// 1. No effect is performed before the records of its batch are committed.
// 2. While a commit fails, the loop steps nothing else: workers keep running, the link stays up,
//    and the loop retries the same commit. After commit_patience it kills the workers and rebuilds
//    the supervisor from the spool, as after a restart of the agent: an op that had begun ends as
//    `1 agent restarted during the test` once its device is safe and the disk accepts records
//    again. The ranks of a run that could not be stored at all are answered at once with the disk's
//    error.
// 3. Messages of a batch go only to the stream that was up when the batch was stepped; if that
//    stream has ended, they are dropped.
//
// Thread safety: none; the thread that calls Run does everything.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "agent/inbox.h"
#include "agent/link.h"
#include "agent/workers.h"
#include "base/memory.h"
#include "core/node/supervisor.h"
#include "store/spool.h"

namespace assay::agent {

// A monotonic clock in milliseconds since 1970: the machine's wall clock at the agent's start plus
// the time that has passed since. Setting the machine's clock moves no deadline. Time in which the
// agent could not run (the process was stopped, the machine was starved) is not counted: an answer
// that a worker gave meanwhile was not late, and the loop could not check a deadline meanwhile.
class AgentClock {
 public:
  AgentClock();
  core::Ms Now() const;
  void StoodStill(core::Ms ms) { left_out_ += ms; }

 private:
  core::Ms left_out_ = 0;
  const core::Ms wall_at_start_;
  const std::chrono::steady_clock::time_point start_;
};

struct LoopOptions {
  core::Ms stop_grace = 0;       // how long a stop waits for a running op
  core::Ms commit_patience = 0;  // see invariant 2
};

class AgentLoop {
 public:
  AgentLoop(LoopOptions options, core::Node self, core::node::Spooled spooled, LinkOptions link,
            WorkerSpec worker, store::Spool* spool, std::shared_ptr<AgentInbox> inbox);
  ~AgentLoop();

  // Returns when a stop was requested and is complete. Closes the inbox.
  void Run();

 private:
  enum class Stop : std::uint8_t { kNo, kAsked, kForced, kAbandoned };

  void Wait();
  void TakeInputs(std::vector<core::node::NodeEvent>* events);
  void Collect(std::vector<core::node::NodeEvent>* events);
  void StepAll(const std::vector<core::node::NodeEvent>& events);
  void Perform(const core::node::NodeEffect& effect, std::uint64_t stream);
  bool Finished();

  bool Commit(const std::vector<core::node::SpoolRecord>& records);
  void WaitForDisk(core::Ms pause);
  void RefuseNewRuns(const std::vector<core::node::SpoolRecord>& records);
  void BeginAnew();
  bool LeavesWithoutDisk() const;

  AgentClock clock_;
  const LoopOptions options_;
  const core::Node self_;
  store::Spool* const spool_;
  const std::shared_ptr<AgentInbox> inbox_;
  Link link_;
  Workers workers_;
  core::node::Supervisor supervisor_;

  std::vector<AgentInput> inputs_;
  std::vector<core::node::NodeEvent> held_;  // events collected while a commit was retried
  Stop stop_ = Stop::kNo;                    // the stop that was requested
  Stop told_ = Stop::kNo;                    // the stop that was passed to the supervisor
  core::Ms supervisor_due_ = 0;
  base::MemoryTrimmer memory_;
  core::Ms forced_by_ = 0;  // when to leave behind worker processes that do not exit
  core::Ms leave_by_ = 0;   // when to stop waiting for acknowledgements; 0: not leaving yet
  bool left_ = false;
  bool said_disk_ = false;
  std::string disk_trouble_;  // the last commit's error
};

}  // namespace assay::agent
