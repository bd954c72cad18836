// Checks every step of a supervisor against the invariants of core/node/supervisor.h, and keeps the
// spool it commits to. For tests that generate events without knowing the expected answer.
//
// The checker derives its state from events and effects only: a worker exists from SpawnWorker to
// WorkerGone, a device is being made safe from MakeSafe to DeviceSafe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/node/supervisor.h"

namespace assay::core::node {

class NodeChecker {
 public:
  // Longest time from KillWorker to WorkerGone; all other bounds are in the assignment.
  static constexpr Ms kReapMs = 2'000;

  // Checks the output of one step for `event`. Call it before the effects are performed.
  void Check(const NodeEvent& event, const NodeOutput& out, Ms now);
  // The agent died, its workers with it, and was started again.
  void Restart(Ms now);
  // Invariant 5. REQUIRES: the world keeps its own bounds: kReapMs and the timeout of MakeSafe.
  void CheckBounds(Ms now);

  const Spooled& spool() const { return spool_; }          // the committed state
  const std::string& problem() const { return problem_; }  // the first violation; empty if none
  // Workers that exist and workers whose devices are being made safe.
  std::vector<WorkerKey> alive() const;
  std::vector<WorkerKey> safing() const;

 private:
  struct Worker {
    std::int32_t device = 0;
    bool opened = false;
    bool prepared = false;
    bool killed = false;
    std::string blob;
  };

  void Fail(const std::string& text);
  void Require(bool good, const char* text) {
    if (!good) Fail(text);
  }
  const SpooledRank* FindRank(RunId run, std::int32_t rank) const;
  bool Answered(const SpooledRank& rank) const { return rank.answered == rank.assigned.ops; }
  bool Holds(const WorkerKey& key) const {
    return workers_.count(key) != 0 || safing_.count(key) != 0;
  }
  bool DeviceHeld(std::int32_t device) const;
  Ms DeadlineOf(const OutcomeKey& key) const;
  // From now on no op of the run may start; ops under way may last until `at`.
  void EndBy(RunId run, Ms at);
  // Fails unless the worker has its device open and `op` is recorded as begun.
  void RequireBegun(const WorkerKey& key, Op op);
  void RequireAllPrepared(RunId run);

  void See(const LinkUp&) { link_ = true, greeted_ = false, sent_.clear(); }
  void See(const LinkDown&) { link_ = false; }
  void See(const CoordinatorSaid& said);
  void See(const WorkerOpened& said);
  void See(const WorkerP2pPrepared& said);
  void See(const WorkerGone& said);
  void See(const DeviceSafe& said);
  void See(const WorkerOpDone& said);
  void See(const StopAsked& asked);
  void See(const StopForced& forced);
  template <class Other>
  void See(const Other&) {}

  void Keep(const SpoolRun& record);
  void Keep(const SpoolStarted& record);
  void Keep(const SpoolBegun& record);
  void Keep(const SpoolOutcome& record);
  void Keep(const SpoolAcked& record);
  void Keep(const SpoolDrop& record);

  void Perform(const SendToCoordinator& effect);
  void Perform(const SpawnWorker& effect);
  void Perform(const RunAic& effect);
  void Perform(const PrepareP2p& effect);
  void Perform(const RunP2p& effect);
  void Perform(const QuitWorker& effect);
  void Perform(const KillWorker& effect);
  void Perform(const MakeSafe& effect);

  void Hear(const Hello& message);
  void Hear(const Ready& message);
  void Hear(const Progress& message);
  void Hear(const Outcomes& message);
  void Hear(const Discarded& message);

  Spooled spool_;
  std::map<WorkerKey, Worker> workers_;
  std::map<WorkerKey, std::int32_t> safing_;  // -> device
  std::set<WorkerKey> spawned_;
  std::set<WorkerKey> made_safe_;
  std::set<RunId> discards_;
  std::set<OutcomeKey> sent_;     // on this link
  std::set<WorkerKey> changed_;   // made safe, but the voltage is still changed
  std::map<RunId, Ms> ended_by_;  // runs that were cancelled, or whose agent is stopping
  std::optional<OutcomeKey> ok_;  // the op that the present event reports as ok
  bool link_ = false;
  bool greeted_ = false;
  bool stopping_ = false;
  Ms now_ = 0;
  Ms restarted_ = 0;
  std::string problem_;
};

// A supervisor and its checker.
class CheckedBench {
 public:
  explicit CheckedBench(std::int32_t devices);

  // Returns the effects to perform; none once there is a problem.
  std::vector<NodeEffect> Step(const NodeEvent& event, Ms now);
  // The agent dies in this step, before or after its commit, and is started again. Returns the
  // effects that it may still have performed.
  std::vector<NodeEffect> StepAndDie(const NodeEvent& event, Ms now, bool committed);
  void Restart(Ms now);
  void CheckBounds(Ms now) { checker_.CheckBounds(now); }
  // Checks that a tick at `before`, if that is earlier than NextDeadline, does nothing and leaves
  // NextDeadline as it was.
  void CheckDeadline(Ms now, Ms before);

  // Whether the last step had records or effects.
  bool did() const { return did_; }
  const NodeChecker& checker() const { return checker_; }
  const Supervisor& supervisor() const { return supervisor_; }
  const std::string& problem() const { return problem_.empty() ? checker_.problem() : problem_; }

 private:
  std::int32_t devices_;
  Supervisor supervisor_;
  NodeChecker checker_;
  bool did_ = false;
  std::string problem_;
};

}  // namespace assay::core::node
