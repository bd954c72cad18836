// The agent's single thread around its turn (turn.h): adds the clock, the wait for descriptors, the
// inputs of other threads and memory trimming.
//
// Thread safety: none; the thread that calls Run does everything.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "agent/inbox.h"
#include "agent/link.h"
#include "agent/ports.h"
#include "agent/turn.h"
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
  // Does not count the last `ms`.
  void Exclude(core::Ms ms) { excluded_ += ms; }

 private:
  core::Ms excluded_ = 0;
  const core::Ms wall_at_start_;
  const std::chrono::steady_clock::time_point start_;
};

struct LoopOptions {
  core::Ms stop_grace = 0;      // how long a stop waits for a running op
  core::Ms commit_timeout = 0;  // turn.h, invariant 2
};

class AgentLoop {
 public:
  AgentLoop(LoopOptions options, core::Node self, core::node::Spooled spooled, LinkOptions link,
            WorkerSpec worker, store::Spool* spool, std::shared_ptr<AgentInbox> inbox);
  ~AgentLoop();

  // Returns when a stop was requested and is complete. Closes the inbox.
  void Run();

 private:
  class StoredSpool final : public SpoolPort {
   public:
    explicit StoredSpool(store::Spool* spool) : spool_(*spool) {}
    base::Status Commit(const std::vector<core::node::SpoolRecord>& records) override {
      return spool_.Commit(records);
    }
    base::Result<core::node::Spooled> Load() override { return spool_.Load(); }
    void Idle() { spool_.Idle(); }

   private:
    store::Spool& spool_;
  };

  void TakeInputs(std::vector<core::node::NodeEvent>* events);
  void Wait();

  AgentClock clock_;
  const core::Ms stop_grace_;
  const std::shared_ptr<AgentInbox> inbox_;
  StoredSpool spool_;
  Link link_;
  Workers workers_;
  Turn turn_;

  std::vector<AgentInput> inputs_;
  base::MemoryTrimmer memory_;
  bool abandoned_ = false;
};

}  // namespace assay::agent
