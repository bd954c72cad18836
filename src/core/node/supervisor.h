// The agent's logic: which worker does what, when it is ended, what is answered. Pure like
// cluster.h.
//
//   NodeOutput out;
//   supervisor.Step(event, now, &out);
//   spool.Commit(out.records);           // then, and only then:
//   perform(out.effects);                // workers, messages
//
// Invariants:
// 1. A device has at most one worker, and one run, at a time.
// 2. An op is recorded as begun before its worker is told to run it; so after a restart "begun and
//    not answered" means that the device must be made safe before the op's outcome (1, or 4 if its
//    voltage stays changed) exists.
// 3. An outcome never changes once it is recorded, and is kept until the coordinator said that it
//    is committed. A rank's ops are answered in their order.
// 4. The last outcome of a rank is sent only when its worker is gone and its device safe: it tells
//    the coordinator that the device is free.
// 5. Every begun op has an outcome by its deadline + kill_grace + the time to end its worker and to
//    make the device safe (the shell bounds both).
//
// Events of workers answer effects of this object: after a restart those of before are not told.
// A message that leaves while no link is up is dropped: LinkUp says everything again.
// Thread safety: none; the agent's loop owns it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/fleet_message.h"
#include "core/model.h"

namespace assay {

// One worker process: for a rank of a run, on its device.
struct WorkerKey {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  auto operator<=>(const WorkerKey&) const = default;
};

// --- Events --------------------------------------------------------------------------------------

struct LinkUp {};  // the stream stands: the supervisor says Hello
struct LinkDown {};
struct CoordinatorSaid {
  CoordinatorMessage message;
};
struct WorkerOpened {  // the driver opened the device
  WorkerKey worker;
};
struct WorkerFailed {  // it could not; the worker still lives and will be told to quit
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
  std::string blob;   // what its peers need
  std::string error;  // not empty: it cannot take part
};
struct WorkerOpDone {
  WorkerKey worker;
  Op op = Op::kAic;
  OutcomeCode code = OutcomeCode::kOk;
  std::string detail;
};
// The process has been reaped. `how` is for people: "signal 11", "exit status 3", "could not be
// started: ...". What it printed last, if anything, follows after a newline.
struct WorkerGone {
  WorkerKey worker;
  std::string how;
};
// A MakeSafe effect has ended (its own process is reaped). An op that was answered before (its
// worker did not quit and was killed) keeps its outcome, so the shell logs a voltage that stays
// changed.
struct DeviceSafe {
  WorkerKey worker;
  bool voltage_changed = false;
  std::string detail;
};
struct StopAsked {  // the first SIGTERM: no more work; the op under way is waited for up to `grace`
  Ms grace = 0;
};
struct StopForced {};  // the second
struct NodeTicked {};
using NodeEvent = std::variant<LinkUp, LinkDown, CoordinatorSaid, WorkerOpened, WorkerFailed,
                               WorkerProgressed, WorkerP2pPrepared, WorkerOpDone, WorkerGone,
                               DeviceSafe, StopAsked, StopForced, NodeTicked>;

// --- Records: what the agent's spool keeps -------------------------------------------------------

struct SpooledRank {
  AssignedRank assigned;
  OpSet begun;
  std::array<Ms, 2> begun_at{};  // [op]
  OpSet answered;
  OpSet acked;                      // the coordinator has committed it
  std::array<Outcome, 2> outcomes;  // [op], where answered.Has(op)
  bool operator==(const SpooledRank&) const = default;
};
struct SpooledRun {
  Assign assign;  // its deadlines and grace; without ranks, which are below
  bool started = false;
  std::vector<SpooledRank> ranks;  // ascending by rank
  bool operator==(const SpooledRun&) const = default;
};
using Spooled = std::map<RunId, SpooledRun>;

struct SpoolRun {  // new
  Assign assign;   // ranks ascending, each once, none without ops
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
struct SpoolDrop {  // nothing of it is owed any more
  RunId run = kNoRun;
};
using SpoolRecord =
    std::variant<SpoolRun, SpoolStarted, SpoolBegun, SpoolOutcome, SpoolAcked, SpoolDrop>;

// What a record means: a spool that has stored it loads this. Records of unknown runs, ranks and
// ops change nothing.
void Apply(const SpoolRecord& record, Spooled* spooled);

// --- Effects -------------------------------------------------------------------------------------

struct SendToCoordinator {
  AgentMessage message;
};
struct SpawnWorker {  // and open the device
  WorkerKey worker;
  std::int32_t device = 0;
};
struct RunAic {
  WorkerKey worker;
};
// Every member of the group gets the same ranks and devices, in the same order; `index` is its own
// place.
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
  std::vector<std::string> blobs;  // [place in group]
};
struct QuitWorker {  // it has nothing more to do; WorkerGone follows
  WorkerKey worker;
};
struct KillWorker {  // SIGKILL; WorkerGone follows
  WorkerKey worker;
};
// In a process of its own: read the device's voltage, restore it where the driver can. DeviceSafe
// follows, bounded by `timeout` (then: voltage_changed with the reason).
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
};

// --- The supervisor ------------------------------------------------------------------------------

class Supervisor {
 public:
  // `self` is what Hello says of this node; no device but its devices gets a worker. Runs in
  // `spooled` are taken up by the first Step: devices with begun ops are made safe, and what is
  // open is answered `1 agent restarted during the test` (or: `before the test began`).
  Supervisor(Node self, Spooled spooled);
  ~Supervisor();
  Supervisor(Supervisor&&) noexcept;
  Supervisor& operator=(Supervisor&&) noexcept;

  void Step(const NodeEvent& event, Ms now, NodeOutput* out);

  // The earliest time at which NodeTicked would do something; now + 1 h when there is none.
  Ms NextDeadline(Ms now) const;

  bool idle() const;               // no worker, no device being made safe
  bool owing() const;              // an outcome is not acknowledged yet
  const Spooled& spooled() const;  // as all records so far made it

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
