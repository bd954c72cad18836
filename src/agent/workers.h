// The agent's worker processes: performs the supervisor's effects on workers and devices, and turns
// the processes' answers into events for the supervisor.
//
//   Workers workers(spec);
//   workers.Perform(effect);
//   poll workers.poll_fd() for reading, until workers.NextDeadline(now); then
//   workers.Collect(now, &events);
//
// Invariants that the supervisor relies on:
// 1. Exactly one WorkerGone follows each SpawnWorker, and exactly one DeviceSafe each MakeSafe. It
//    is the last event of that process, which has been reaped.
// 2. A separate process makes a device safe; it is killed after the effect's timeout. A voltage
//    that could not be determined counts as changed, with the reason.
// 3. A worker that does not read its messages is killed.
// 4. Processes that KillAll killed are still reaped, but nothing of them is reported, not even if
//    that takes long: their keys may belong to new processes by then.
//
// Thread safety: none. One long-lived thread makes every call (worker_process.h says why).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "agent/worker_process.h"
#include "base/unique_fd.h"
#include "core/node/supervisor.h"

namespace assay::agent {

class Workers final : public WorkersPort {
 public:
  explicit Workers(WorkerSpec spec);
  // Kills the remaining processes and waits for them, at most a second for each that is stuck in
  // the kernel.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Perform(const core::node::SpawnWorker& effect) override;
  void Perform(const core::node::RunAic& effect) override;
  void Perform(const core::node::PrepareP2p& effect) override;
  void Perform(const core::node::RunP2p& effect) override;
  void Perform(const core::node::QuitWorker& effect) override;
  void Perform(const core::node::KillWorker& effect) override;
  void Perform(const core::node::MakeSafe& effect, core::Ms now) override;

  void Collect(core::Ms now, std::vector<core::node::NodeEvent>* out) override;
  core::Ms NextDeadline(core::Ms now) const override;

  // Valid and unchanged as long as the object lives.
  int poll_fd() const { return epoll_.get(); }
  bool empty() const override { return processes_.empty() && waiting_.empty(); }
  void KillAll() override;

 private:
  struct Process {
    core::node::WorkerKey key;
    std::int32_t device = 0;
    std::unique_ptr<WorkerProcess> process;
    bool safing = false;     // it makes the device safe instead of testing it
    bool discarded = false;  // by KillAll
    // The rest is used only if `safing`.
    core::Ms kill_at = 0;
    bool late = false;
    bool answered = false;
    driver::MadeSafe safe;
  };

  Process* Add(const core::node::WorkerKey& key, std::int32_t device, bool safing,
               base::Status* status);
  Process* Find(const core::node::WorkerKey& key);
  void SendOrKill(const core::node::WorkerKey& key, const driver::ToWorker& message);
  bool Send(Process* to, const driver::ToWorker& message, base::Status* status);

  void Take(Process* from, WorkerEvent event, std::vector<core::node::NodeEvent>* out);
  void TakeWork(const Process& from, WorkerEvent event, std::vector<core::node::NodeEvent>* out);
  void TakeSafing(Process* from, WorkerEvent event, std::vector<core::node::NodeEvent>* out);

  const WorkerSpec spec_;
  const base::UniqueFd epoll_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Process> processes_;
  std::map<core::node::WorkerKey, std::uint64_t> by_key_;  // the processes that test
  std::vector<core::node::NodeEvent> waiting_;             // failures that the next Collect returns
};

// Fills in `driver` and `devices` of *node. Asks the driver in a separate process, because the
// agent never calls a driver itself. Waits at most wait_ms.
base::Status AskInventory(const WorkerSpec& spec, core::Ms wait_ms, core::Node* node);

}  // namespace assay::agent
