// The agent's one thread: takes what has happened as one batch, steps it through the supervisor,
// commits the batch's records to the spool, and then does what the supervisor wants done.
//
// 1. No effect is performed before the records of its batch are committed.
// 2. While a commit fails nothing else is stepped: workers go on, the link is kept up, the same
//    commit is tried again. After commit_patience the workers are killed and the supervisor is made
//    anew from the spool, as after a restart of the agent: what had begun is answered `1 agent
//    restarted during the test` once its device is safe and the disk takes records again. A run
//    that could not be stored at all is answered at once with what is wrong with the disk.
// 3. Messages of a batch go to the stream that stood when it was stepped, or nowhere.
//
// Thread safety: none; Run is the thread.
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

namespace assay {

// Milliseconds since 1970 that only go forward: the clock of the machine at the start of the agent,
// and then the time that has passed. Setting the clock moves no deadline. Time in which the agent
// itself could not run (it was stopped, the machine was starved) is left out: a worker's answer
// that waited meanwhile was not late, and a deadline that seems to have passed was not looked at.
class AgentClock {
 public:
  AgentClock();
  Ms Now() const;
  void StoodStill(Ms ms) { left_out_ += ms; }

 private:
  Ms left_out_ = 0;
  const Ms wall_at_start_;
  const std::chrono::steady_clock::time_point start_;
};

struct LoopOptions {
  Ms stop_grace = 0;       // how long an op under way is waited for once it is told to stop
  Ms commit_patience = 0;  // see 2
};

class AgentLoop {
 public:
  AgentLoop(LoopOptions options, Node self, Spooled spooled, LinkOptions link, WorkerSpec worker,
            Spool* spool, std::shared_ptr<AgentInbox> inbox);
  ~AgentLoop();

  // Until the agent was told to stop and has. Closes the inbox.
  void Run();

 private:
  enum class Stop : std::uint8_t { kNo, kAsked, kForced, kAbandoned };

  void Wait();
  void TakeInputs(std::vector<NodeEvent>* events);
  void Collect(std::vector<NodeEvent>* events);
  void StepAll(const std::vector<NodeEvent>& events);
  void Perform(const NodeEffect& effect, std::uint64_t stream);
  bool Finished();

  bool Commit(const std::vector<SpoolRecord>& records);
  void WaitForDisk(Ms pause);
  void RefuseNewRuns(const std::vector<SpoolRecord>& records);
  void BeginAnew();
  bool LeavesWithoutDisk() const;

  AgentClock clock_;
  const LoopOptions options_;
  const Node self_;
  Spool* const spool_;
  const std::shared_ptr<AgentInbox> inbox_;
  Link link_;
  Workers workers_;
  Supervisor supervisor_;

  std::vector<AgentInput> inputs_;
  std::vector<NodeEvent> held_;  // happened while a commit was tried again
  Stop stop_ = Stop::kNo;        // what was asked for
  Stop told_ = Stop::kNo;        // what the supervisor knows of it
  Ms supervisor_due_ = 0;
  MemoryKeeper memory_;
  Ms forced_by_ = 0;  // a process that cannot be ended is left behind then
  Ms leave_by_ = 0;   // 0: not leaving yet
  bool left_ = false;
  bool said_disk_ = false;
  std::string disk_trouble_;  // of the last commit
};

}  // namespace assay
