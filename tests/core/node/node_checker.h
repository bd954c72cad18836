// A supervisor whose every step is held against the invariants of core/node/supervisor.h, with the
// spool it commits to. For tests that throw events at it without knowing what it should answer.
//
// It knows the world only through events and effects: a worker lives from its SpawnWorker to its
// WorkerGone, a device is being made safe from MakeSafe to DeviceSafe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/node/supervisor.h"

namespace assay {

class NodeChecker {
 public:
  // How long after a kill the world says WorkerGone; what else takes its time is in the assignment.
  static constexpr Ms kReapMs = 2'000;

  // One step's answer to `event`, before anything is done with it.
  void Check(const NodeEvent& event, const NodeOutput& out, Ms now);
  // The agent died and came back: its workers died with it.
  void Restart(Ms now);
  // Invariant 5, in a world that keeps its own bounds.
  void CheckBounds(Ms now);

  const Spooled& spool() const { return spool_; }  // what is committed
  const std::string& problem() const { return problem_; }
  // Workers that live and devices that are being made safe.
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
  // No further op of the run may start, and what is under way may last until then.
  void EndBy(RunId run, Ms at);
  // The worker may be told to begin `op`.
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
  std::set<WorkerKey> changed_;   // made safe, but for the voltage
  std::map<RunId, Ms> ended_by_;  // runs that were cancelled, or whose agent stops
  std::optional<OutcomeKey> ok_;  // what the present event says is ok
  bool link_ = false;
  bool greeted_ = false;
  bool stopping_ = false;
  Ms now_ = 0;
  Ms restarted_ = 0;
  std::string problem_;
};

// A checker with its supervisor.
class CheckedBench {
 public:
  explicit CheckedBench(std::int32_t devices);

  // What is to be performed. Nothing once there is a problem.
  std::vector<NodeEffect> Step(const NodeEvent& event, Ms now);
  // The agent dies in this step, before or after its commit, and comes back. Answers what it may
  // still have performed.
  std::vector<NodeEffect> StepAndDie(const NodeEvent& event, Ms now, bool committed);
  void Restart(Ms now);
  void CheckBounds(Ms now) { checker_.CheckBounds(now); }
  // Everything that NextDeadline promises: nothing happens at `before`, something at it.
  void CheckDeadline(Ms now, Ms before);

  // Whether the last step did anything.
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

}  // namespace assay
