// Checks the rules that hold in every world. The checker sees only what crosses the boundaries of
// the parts (events, records, effects, workers); it does not depend on how the cluster and the
// supervisors reach their answers.
//
//  1. Whatever is acknowledged is stored: an accepted test, a reply's items, an agent's outcomes.
//  2. The stored state equals the cluster's state. A stored outcome never changes, neither in the
//     coordinator's store nor in an agent's spool.
//  3. A stored outcome is the one that the agent recorded, not_run if the agent could not store the
//     run, the first one that the subscriber replied, or one made by the coordinator, with one of
//     its own details.
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
  void BeforeStep(const core::Event& event, const core::Durable& durable);
  // The step's output is `out` from index `record` and index `effect` on.
  void Stepped(const core::Event& event, const core::Output& out, std::size_t record,
               std::size_t effect, const core::cluster::Cluster& cluster);
  void Store(const core::Record& record, const Disk& disk);  // call before the record is applied
  void Compare(const Disk& disk, const core::Durable& live);
  void Released(const core::Effect& effect, const Disk& disk);
  void Spoil(Disk* disk) const;  // plants the fault of kLoseLease or kChangeOutcome

  // --- Agents
  void AgentDied(int agent);
  void Spooled(int agent, const core::node::SpoolRecord& record);  // the record is committed
  // The agent answers an op of a run that it could not store.
  void Refused(const core::OutcomeKey& key, const std::string& detail);
  void WorkerSpawned(int agent, const core::node::WorkerKey& worker, std::int32_t device);
  void WorkerGone(int agent, const core::node::WorkerKey& worker);
  void MakingSafe(int agent, const core::node::WorkerKey& worker, std::int32_t device);
  void DeviceSafed(int agent, const core::node::WorkerKey& worker);
  void OpPrepared(int agent, const core::node::WorkerKey& worker);
  void OpRun(int agent, const core::node::WorkerKey& worker, core::Op op);

  std::size_t outcomes() const { return stored_.size(); }
  std::size_t runs() const { return deadlines_.size(); }

 private:
  using Device = std::pair<int, std::int32_t>;  // agent, device
  struct Asked {
    core::RunId run = core::kNoRun;      // the run that waits for the reply
    std::vector<core::OutcomeKey> keys;  // the outcomes that the reply may provide
  };

  void Keep(const core::PutRun& record, const Disk& disk);
  void Keep(const core::PutRunHeader& record, const Disk& disk);
  void Keep(const core::PutOutcome& record, const Disk& disk);
  void Keep(const core::PutLease& record, const Disk& disk);
  void Keep(const core::DropLease& record, const Disk& disk);
  template <class Other>
  void Keep(const Other&, const Disk&) {}

  void Check(const core::Answer& effect, const Disk& disk);
  void Check(const core::PublishNotify& effect, const Disk& disk);
  void Check(const core::PublishResult& effect, const Disk& disk);
  void Check(const core::ReplayResult& effect, const Disk& disk);
  void Check(const core::ToAgent& effect, const Disk& disk);
  template <class Other>
  void Check(const Other&, const Disk&) {}

  void See(const core::Replied& reply, const core::Durable& durable);
  void CheckOutcome(const core::Event& event, const core::PutOutcome& record);
  void CheckOwing(const core::Event& event, const core::Output& out, std::size_t record,
                  const core::Durable& durable);
  void CheckOpenRuns(const core::Durable& durable, bool ticked);
  void CheckNeverStarted(const core::OutcomeKey& key, const core::Outcome& outcome);
  void CheckResult(core::RunId run, const std::string& message, const Disk& disk);
  bool IsStored(const core::OutcomeKey& key) const { return stored_.count(key) > 0; }
  void CheckHolder(Device device, core::RunId run);

  World& world_;
  core::Ms judged_from_ = 0;
  std::map<core::CallId, Asked> asked_;                // calls that were stepped and not answered
  std::map<core::RunId, core::Ms> deadlines_;          // of each run, as first stored
  std::map<core::OutcomeKey, core::Outcome> stored_;   // by the coordinator
  std::map<core::OutcomeKey, core::Outcome> spooled_;  // by agents
  std::map<core::OutcomeKey, std::string> refused_;    // by agents, with the detail
  std::map<core::OutcomeKey, core::OutcomeCode>
      replied_;                       // new outcomes that the present reply provides
  std::set<core::OutcomeKey> begun_;  // a worker was sent the op
  std::set<core::OutcomeKey> ran_;
  std::set<core::RunId> notified_;
  std::set<core::RunId> closed_;
  std::set<core::RunId> forgotten_;  // runs that lost leases because an operator forgot the node
  std::set<core::RunId>
      leaving_;  // runs that would lose leases if the present step forgets the node
  std::map<Device, core::RunId> leased_;
  std::map<std::pair<int, core::node::WorkerKey>, std::int32_t> working_;  // -> device
  std::map<std::pair<int, core::node::WorkerKey>, std::int32_t> safing_;
};

}  // namespace assay::simulation
