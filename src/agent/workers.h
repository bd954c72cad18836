// The agent's worker processes: does what the supervisor's effects say of workers and devices, and
// turns what the processes answer into the supervisor's events.
//
//   Workers workers(spec);
//   workers.Perform(effect);
//   poll workers.poll_fd() for reading, until workers.NextDeadline(now); then
//   workers.Collect(now, &events);
//
// What the supervisor relies on:
// 1. Each SpawnWorker is followed by exactly one WorkerGone, each MakeSafe by exactly one
//    DeviceSafe, and nothing of that process comes after it: it has been reaped.
// 2. A device is made safe in a process of its own, killed after the effect's timeout. What could
//    not be found out counts as a changed voltage, with the reason.
// 3. A worker that does not read what it is told is killed.
//
// Thread safety: none. One long-lived thread makes every call (worker_process.h says why).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/worker_process.h"
#include "core/node/supervisor.h"

namespace assay {

class Workers {
 public:
  explicit Workers(WorkerSpec spec);
  ~Workers();  // kills what is left and waits for it, at most a second for all
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Perform(const SpawnWorker& effect);
  void Perform(const RunAic& effect);
  void Perform(const PrepareP2p& effect);
  void Perform(const RunP2p& effect);
  void Perform(const QuitWorker& effect);
  void Perform(const KillWorker& effect);
  void Perform(const MakeSafe& effect, Ms now);

  void Collect(Ms now, std::vector<NodeEvent>* out);
  Ms NextDeadline(Ms now) const;

  // Valid as long as the object lives.
  int poll_fd() const { return epoll_; }
  bool empty() const { return processes_.empty() && waiting_.empty(); }
  void KillAll();

 private:
  struct Process {
    WorkerKey key;
    std::int32_t device = 0;
    std::unique_ptr<WorkerProcess> process;
    bool safing = false;  // it makes the device safe
    Ms kill_at = 0;       // of safing
    bool late = false;
    bool answered = false;  // of safing
    driver::MadeSafe safe;
  };

  Process* Add(const WorkerKey& key, std::int32_t device, bool safing, Status* status);
  Process* Find(const WorkerKey& key);
  void Tell(const WorkerKey& key, const driver::ToWorker& message);
  bool Send(Process* to, const driver::ToWorker& message, Status* status);

  void Take(Process* from, WorkerEvent event, std::vector<NodeEvent>* out);
  void TakeWork(const Process& from, WorkerEvent event, std::vector<NodeEvent>* out);
  void TakeSafing(Process* from, WorkerEvent event, std::vector<NodeEvent>* out);

  const WorkerSpec spec_;
  const int epoll_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Process> processes_;
  std::map<WorkerKey, std::uint64_t> by_key_;  // those that test
  std::vector<NodeEvent> waiting_;             // of processes that could not be started
};

// What driver and devices there are, asked in a process of its own: the driver is never called in
// the agent. Fills in `driver` and `devices`. Waits for at most wait_ms.
Status AskInventory(const WorkerSpec& spec, Ms wait_ms, Node* node);

}  // namespace assay
