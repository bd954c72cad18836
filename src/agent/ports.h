// The interfaces through which the agent's turn (turn.h) uses the coordinator's stream, the worker
// processes and the spool. Link, Workers and store::Spool are behind them in an agent; simulated
// ones are in tests.
//
// Thread safety: none; the thread of the turn makes every call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/node/supervisor.h"

namespace assay::agent {

// The stream to the coordinator. LinkUp, CoordinatorSaid and LinkDown reach the turn as events.
class LinkPort {
 public:
  // Drops the message if no stream is up.
  virtual void Send(const core::AgentMessage& message, core::Ms now) = 0;
  // The events passed to the turn so far are handled: allows the next read.
  virtual void Consumed() = 0;

  // True between LinkUp and LinkDown.
  virtual bool up() const = 0;
  // The id of the stream that is up, never reused; 0: none is up.
  virtual std::uint64_t stream() const = 0;

  // Ends the stream, with a LinkDown in *out if one was up. Another attempt follows.
  virtual void Drop(const std::string& why, std::vector<core::node::NodeEvent>* out) = 0;
  // Sends what is queued, ends the stream and opens no other. closed() becomes true soon.
  virtual void Close(core::Ms now) = 0;
  virtual bool closed() const = 0;

 protected:
  ~LinkPort() = default;
};

// The worker processes. One WorkerGone follows each SpawnWorker and one DeviceSafe each MakeSafe,
// as the last event of the process, unless KillAll comes first.
class WorkersPort {
 public:
  virtual void Perform(const core::node::SpawnWorker& effect) = 0;
  virtual void Perform(const core::node::RunAic& effect) = 0;
  virtual void Perform(const core::node::PrepareP2p& effect) = 0;
  virtual void Perform(const core::node::RunP2p& effect) = 0;
  virtual void Perform(const core::node::QuitWorker& effect) = 0;
  virtual void Perform(const core::node::KillWorker& effect) = 0;
  virtual void Perform(const core::node::MakeSafe& effect, core::Ms now) = 0;

  virtual void Collect(core::Ms now, std::vector<core::node::NodeEvent>* out) = 0;
  // When Collect has something to do although no worker has sent anything.
  virtual core::Ms NextDeadline(core::Ms now) const = 0;

  // No process is left, and Collect would return nothing.
  virtual bool empty() const = 0;
  // Kills every process and discards its events, those not collected yet included.
  virtual void KillAll() = 0;

 protected:
  ~WorkersPort() = default;
};

class SpoolPort {
 public:
  // The records survive a restart once it returns ok. A failed commit changes nothing.
  virtual base::Status Commit(const std::vector<core::node::SpoolRecord>& records) = 0;
  virtual base::Result<core::node::Spooled> Load() = 0;

 protected:
  ~SpoolPort() = default;
};

}  // namespace assay::agent
