// What must hold in every world, told by what happens at the borders of the parts: it knows nothing
// of how the cluster and the benches come to their answers.
//
//  1. Acknowledged is stored: an accepted test, a reply's items, an agent's outcomes.
//  2. What is stored is what the cluster has. An outcome once stored never changes; so neither does
//     one in an agent's spool.
//  3. A stored outcome is what its agent recorded, what its subscriber said first, or one of the
//     coordinator's own, in its own words.
//  4. A device has one worker at a time, of the run that holds its lease, and a lease one run.
//  5. An op runs once; what is said to have never started never did, and never does.
//  6. A run ends by its deadline, which never grows, or resume_grace after a start that came later.
//  A
//     job has at most one open run. What is closed stays so.
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
  // `out` from the given places on is what the step answered.
  void Stepped(const Event& event, const Output& out, std::size_t record, std::size_t effect,
               const Cluster& cluster);
  void Store(const Record& record, const Disk& disk);  // before it is applied
  void Compare(const Disk& disk, const Durable& live);
  void Released(const Effect& effect, const Disk& disk);
  void Spoil(Disk* disk) const;  // for canaries

  // --- Agents
  void AgentDied(int agent);
  void Spooled(int agent, const SpoolRecord& record);  // it is committed
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
    RunId run = kNoRun;            // of the job that is replied to, while it waits
    std::vector<OutcomeKey> keys;  // what a reply may have counted for
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
  std::map<CallId, Asked> asked_;              // stepped, not answered
  std::map<RunId, Ms> deadlines_;              // as first stored
  std::map<OutcomeKey, Outcome> stored_;       // by the coordinator
  std::map<OutcomeKey, Outcome> spooled_;      // by agents
  std::map<OutcomeKey, OutcomeCode> replied_;  // what the present reply may count for
  std::set<OutcomeKey> begun_;                 // a worker was told
  std::set<OutcomeKey> ran_;
  std::set<RunId> notified_;
  std::set<RunId> closed_;
  std::set<RunId> forgotten_;  // their leases went with a node, by an operator's will
  std::set<RunId> leaving_;    // ... perhaps by the present step
  std::map<Device, RunId> leased_;
  std::map<std::pair<int, WorkerKey>, std::int32_t> working_;  // -> device
  std::map<std::pair<int, WorkerKey>, std::int32_t> safing_;
};

}  // namespace assay::simulation
