// The agent's logic as a pure state machine, like cluster.h: decides what each worker runs, when it
// is ended and which outcomes are recorded and sent.
//
//   NodeOutput out;
//   supervisor.Step(event, now, &out);
//   spool.Commit(out.records);           // then, and only then:
//   perform(out.effects);                // workers, messages
//
// Thread safety: none; the agent's loop owns it.
//
// Worker events answer effects of this object; after a restart, events of earlier workers must not
// be delivered. Messages produced while no link is up are dropped: LinkUp sends everything again.
//
// Invariants:
// 1. A device has at most one worker, and one run, at a time.
// 2. An op is recorded as begun before its worker runs it. After a restart "begun and not answered"
//    therefore means: make the device safe, then record the op's outcome (1, or 4 if the voltage is
//    still changed).
// 3. A recorded outcome never changes and is stored until the coordinator acknowledges that it has
//    committed it. A rank's ops are answered in their order.
// 4. The last outcome of a rank is sent only after its worker has exited and its device is safe: it
//    tells the coordinator that the device is free.
// 5. Every begun op has an outcome by its deadline + kill_grace + the time to end its worker + the
//    time to make the device safe. The caller bounds the last two.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/fleet_message.h"
#include "core/model.h"

namespace assay::core::node {

// One worker process: for a rank of a run, on its device.
struct WorkerKey {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  auto operator<=>(const WorkerKey&) const = default;
};

// --- Events --------------------------------------------------------------------------------------

struct LinkUp {};  // the stream is established: the supervisor sends Hello
struct LinkDown {};
struct CoordinatorSaid {
  CoordinatorMessage message;
};
struct WorkerOpened {  // the driver opened the device
  WorkerKey worker;
};
struct WorkerFailed {  // the driver could not open it; the worker still runs, QuitWorker follows
  WorkerKey worker;
  std::string reason;
};
struct WorkerProgressed {
  WorkerKey worker;
  Op op = Op::kAic;
  std::int32_t percent = 0;
  std::string text;
};
struct WorkerP2pPrepared {
  WorkerKey worker;
  std::string blob;   // what the peers need
  std::string error;  // why the worker cannot take part; empty if it can
};
struct WorkerOpDone {
  WorkerKey worker;
  Op op = Op::kAic;
  OutcomeCode code = OutcomeCode::kOk;
  std::string detail;
};
// The process has been reaped. `how` is text for people: "signal 11", "exit status 3", "could not
// be started: ...". Its last output, if any, follows after a newline.
struct WorkerGone {
  WorkerKey worker;
  std::string how;
};
// A MakeSafe effect has ended and its process is reaped. If the op has an outcome already (its
// worker did not quit and was killed), that outcome does not change, so the caller must log a
// voltage that is still changed.
struct DeviceSafe {
  WorkerKey worker;
  bool voltage_changed = false;
  std::string detail;
};
struct StopAsked {  // first SIGTERM: no op starts; an op under way may run for up to `grace`
  Ms grace = 0;
};
struct StopForced {};  // second SIGTERM: workers are killed
struct NodeTicked {};
using NodeEvent = std::variant<LinkUp, LinkDown, CoordinatorSaid, WorkerOpened, WorkerFailed,
                               WorkerProgressed, WorkerP2pPrepared, WorkerOpDone, WorkerGone,
                               DeviceSafe, StopAsked, StopForced, NodeTicked>;

// --- Records: the contents of the agent's spool --------------------------------------------------

struct SpooledRank {
  AssignedRank assigned;
  OpSet begun;
  PerOp<Ms> begun_at;
  OpSet answered;
  OpSet acked;              // the coordinator has committed it
  PerOp<Outcome> outcomes;  // valid if answered.Has(op)
  bool operator==(const SpooledRank&) const = default;
};
struct SpooledRun {
  Assign assign;  // deadlines and grace; its `ranks` is empty, see below
  bool started = false;
  std::vector<SpooledRank> ranks;  // ascending by rank
  bool operator==(const SpooledRun&) const = default;
};
using Spooled = std::map<RunId, SpooledRun>;

struct SpoolRun {  // a new run
  Assign assign;   // ranks ascending and unique, each with at least one op
};
struct SpoolStarted {
  RunId run = kNoRun;
};
struct SpoolBegun {
  OutcomeKey key;
  Ms at = 0;
};
struct SpoolOutcome {
  OutcomeKey key;
  Outcome outcome;
};
struct SpoolAcked {
  OutcomeKey key;
};
struct SpoolDrop {  // every outcome is acknowledged, or the run is discarded
  RunId run = kNoRun;
};
using SpoolRecord =
    std::variant<SpoolRun, SpoolStarted, SpoolBegun, SpoolOutcome, SpoolAcked, SpoolDrop>;

// Applies a record to the state: loading a spool yields the result of all its records in order.
// Records of unknown runs, ranks and ops change nothing.
void Apply(const SpoolRecord& record, Spooled* spooled);

// --- Effects -------------------------------------------------------------------------------------

struct SendToCoordinator {
  AgentMessage message;
};
struct SpawnWorker {  // the worker also opens the device: WorkerOpened or WorkerFailed follows
  WorkerKey worker;
  std::int32_t device = 0;
};
struct RunAic {
  WorkerKey worker;
};
// Every worker of the group gets the same ranks and devices in the same order; `index` is its own
// position in it.
struct P2pMember {
  std::int32_t rank = 0;
  std::int32_t device = 0;
};
struct PrepareP2p {
  WorkerKey worker;
  std::vector<P2pMember> group;
  std::int32_t index = 0;
};
struct RunP2p {
  WorkerKey worker;
  std::vector<P2pMember> group;
  std::int32_t index = 0;
  std::vector<std::string> blobs;  // [position in group]
};
struct QuitWorker {  // let the worker exit: it has nothing more to do; WorkerGone follows
  WorkerKey worker;
};
struct KillWorker {  // SIGKILL; WorkerGone follows
  WorkerKey worker;
};
// In a process of its own, read the device's voltage and restore it where the driver can.
// DeviceSafe follows within `timeout`; on timeout it has voltage_changed and the reason.
struct MakeSafe {
  WorkerKey worker;
  std::int32_t device = 0;
  Ms timeout = 0;
};
using NodeEffect = std::variant<SendToCoordinator, SpawnWorker, RunAic, PrepareP2p, RunP2p,
                                QuitWorker, KillWorker, MakeSafe>;

struct NodeOutput {
  std::vector<SpoolRecord> records;
  std::vector<NodeEffect> effects;
  std::vector<std::string> internal_errors;  // for the log: what only a defect of the code causes
};

// --- The supervisor ------------------------------------------------------------------------------

class Supervisor {
 public:
  // Hello sends `self`; only its devices get workers. The first Step takes up the runs in
  // `spooled`: it makes devices with begun ops safe and answers open ops with `1 agent restarted
  // during the test` (or `1 agent restarted before the test began`).
  Supervisor(Node self, Spooled spooled);
  ~Supervisor();
  Supervisor(Supervisor&&) noexcept;
  Supervisor& operator=(Supervisor&&) noexcept;

  void Step(const NodeEvent& event, Ms now, NodeOutput* out);

  // The earliest time at which NodeTicked would do something; now + 1 h if there is none.
  Ms NextDeadline(Ms now) const;

  bool idle() const;               // no worker runs and no device is being made safe
  bool owing() const;              // an outcome is not acknowledged yet
  const Spooled& spooled() const;  // the result of all records so far

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::core::node
