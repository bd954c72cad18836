// Checks the rules that hold in every world. The checker sees only what crosses the boundaries of
// the parts (events, records, effects, workers); it does not depend on how the cluster and the
// supervisors reach their answers.
//
//  1. Whatever is acknowledged is stored: an accepted test, a reply's items, an agent's outcomes.
//  2. The stored state equals the cluster's state. A stored outcome never changes, neither in the
//     coordinator's store nor in an agent's spool.
//  3. A stored outcome is the one that the agent recorded, the first one that the subscriber
//     replied, or one made by the coordinator, with one of its own details.
//  4. A device has at most one worker at a time, and that worker belongs to the run that holds the
//     device's lease. A lease has one run.
//  5. An op runs at most once. An op reported as never started has not run and never runs.
//  6. A run ends by its deadline, which never grows, or by resume_grace after a coordinator start
//     that came later. A job has at most one open run. A closed run stays closed.
//  7. A unary call gets one answer, a result stream one message, a run one notification.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/cluster/cluster.h"
#include "core/node/supervisor.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Checker {
 public:
  explicit Checker(World* world) : world_(*world) {}

  // --- The coordinator
  void CoordinatorStarted(const Disk& disk);
  void CoordinatorDied() { asked_.clear(); }
  void BeforeStep(const Event& event, const Durable& durable);
  // The step's output is `out` from index `record` and index `effect` on.
  void Stepped(const Event& event, const Output& out, std::size_t record, std::size_t effect,
               const Cluster& cluster);
  void Store(const Record& record, const Disk& disk);  // call before the record is applied
  void Compare(const Disk& disk, const Durable& live);
  void Released(const Effect& effect, const Disk& disk);
  void Spoil(Disk* disk) const;  // plants the fault of kLoseLease or kChangeOutcome

  // --- Agents
  void AgentDied(int agent);
  void Spooled(int agent, const SpoolRecord& record);  // the record is committed
  void WorkerSpawned(int agent, const WorkerKey& worker, std::int32_t device);
  void WorkerGone(int agent, const WorkerKey& worker);
  void MakingSafe(int agent, const WorkerKey& worker, std::int32_t device);
  void DeviceSafed(int agent, const WorkerKey& worker);
  void OpPrepared(int agent, const WorkerKey& worker);
  void OpRun(int agent, const WorkerKey& worker, Op op);

  std::size_t outcomes() const { return stored_.size(); }
  std::size_t runs() const { return deadlines_.size(); }

 private:
  using Device = std::pair<int, std::int32_t>;  // agent, device
  struct Asked {
    RunId run = kNoRun;            // the run that waits for the reply
    std::vector<OutcomeKey> keys;  // the outcomes that the reply may provide
  };

  void Keep(const PutRun& record, const Disk& disk);
  void Keep(const PutRunHeader& record, const Disk& disk);
  void Keep(const PutOutcome& record, const Disk& disk);
  void Keep(const PutLease& record, const Disk& disk);
  void Keep(const DropLease& record, const Disk& disk);
  template <class Other>
  void Keep(const Other&, const Disk&) {}

  void Check(const Answer& effect, const Disk& disk);
  void Check(const PublishNotify& effect, const Disk& disk);
  void Check(const PublishResult& effect, const Disk& disk);
  void Check(const ReplayResult& effect, const Disk& disk);
  void Check(const ToAgent& effect, const Disk& disk);
  template <class Other>
  void Check(const Other&, const Disk&) {}

  void See(const Replied& reply, const Durable& durable);
  void CheckOutcome(const Event& event, const PutOutcome& record);
  void CheckOwing(const Event& event, const Output& out, std::size_t record,
                  const Durable& durable);
  void CheckOpenRuns(const Durable& durable, bool ticked);
  void CheckNeverStarted(const OutcomeKey& key, const Outcome& outcome);
  void CheckResult(RunId run, const std::string& message, const Disk& disk);
  bool IsStored(const OutcomeKey& key) const { return stored_.count(key) > 0; }
  void CheckHolder(Device device, RunId run);

  World& world_;
  Ms judged_from_ = 0;
  std::map<CallId, Asked> asked_;              // calls that were stepped and not answered
  std::map<RunId, Ms> deadlines_;              // of each run, as first stored
  std::map<OutcomeKey, Outcome> stored_;       // by the coordinator
  std::map<OutcomeKey, Outcome> spooled_;      // by agents
  std::map<OutcomeKey, OutcomeCode> replied_;  // new outcomes that the present reply provides
  std::set<OutcomeKey> begun_;                 // a worker was sent the op
  std::set<OutcomeKey> ran_;
  std::set<RunId> notified_;
  std::set<RunId> closed_;
  std::set<RunId> forgotten_;  // runs that lost leases because an operator forgot the node
  std::set<RunId> leaving_;    // runs that would lose leases if the present step forgets the node
  std::map<Device, RunId> leased_;
  std::map<std::pair<int, WorkerKey>, std::int32_t> working_;  // -> device
  std::map<std::pair<int, WorkerKey>, std::int32_t> safing_;
};

}  // namespace assay::simulation
