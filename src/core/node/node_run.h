// One run on this node: its ranks, their workers and the barrier before p2p. Internal to
// supervisor.cc.
//
// After each event, which moves single ranks, the supervisor calls Advance to start whatever has
// become possible and Expire to handle the deadlines that have passed.
// Thread safety: none; the supervisor owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/node/rank_phase.h"
#include "core/node/step.h"

namespace assay::core::node {

inline constexpr Ms kOpenMs = 60'000;  // a worker has this long to open its device

// An early end of a run (cancel or agent stop): no further op starts.
struct WindUp {
  std::string unstarted;   // detail of the outcome of ops that have not begun
  Ms kill_at = 0;          // when workers with an op under way are killed
  std::string killed;      // detail of the outcome of the ops killed at kill_at
  bool cancelled = false;  // by the coordinator: p2p that is only prepared does not run
};

class NodeRun {
 public:
  // REQUIRES: `stored` is the run's entry in the spool, its ranks ascend, and it outlives this.
  NodeRun(RunId id, SpooledRun* stored);

  // For each rank of a new run, call one of the two: start its worker, or answer its ops with
  // not_run and `reason`.
  void Spawn(std::size_t index, const NodeStep& step);
  void Refuse(std::size_t index, const std::string& reason, const NodeStep& step);
  // For a run from before the agent's restart: makes devices with begun ops safe and answers the
  // open ops of the other ranks.
  void TakeUp(const NodeStep& step);

  void Start(const NodeStep& step);
  void End(const WindUp& wind_up);
  void Discard(const NodeStep& step);
  // Returns false if the acknowledgement changes nothing: the outcome is unknown, not yet sendable
  // or already acknowledged.
  bool Acknowledge(const OutcomeKey& key, const NodeStep& step);

  void Opened(std::int32_t rank, const NodeStep& step);
  void Failed(std::int32_t rank, const std::string& reason, const NodeStep& step);
  void Progressed(const WorkerProgressed& said, const NodeStep& step);
  void Prepared(const WorkerP2pPrepared& said, const NodeStep& step);
  void OpDone(const WorkerOpDone& said, const NodeStep& step);
  void Gone(std::int32_t rank, const std::string& how, const NodeStep& step);
  void Safe(const DeviceSafe& said, const NodeStep& step);

  void Advance(const NodeStep& step);
  void Expire(const NodeStep& step);
  Ms Due() const;  // when Expire next has something to do; kNever if at no time

  // Appends the outcomes to send: sendable, not acknowledged, and not sent since the last SayAgain.
  void TakeReports(Ms now, std::vector<OutcomeReport>* reports);
  // Whether to send Ready now: every rank waits or is answered, and TakeReady has not returned true
  // since the last SayAgain(true).
  bool TakeReady();
  // Sends the start of each op under way again.
  void SayUnderWay(const NodeStep& step) const;
  // Lets TakeReports return every unacknowledged outcome again; with `ready`, TakeReady too.
  void SayAgain(bool ready);

  bool Holds(std::int32_t device) const;
  bool free() const;     // nothing holds its devices
  bool open() const;     // an op has no outcome
  bool settled() const;  // free, and every outcome is acknowledged
  bool owing() const;    // an outcome is not acknowledged
  bool unheard() const;  // an outcome was sent and is not acknowledged
  bool discarded() const { return discarded_; }
  bool started() const { return stored_->started; }
  std::size_t size() const { return ranks_.size(); }
  const AssignedRank& assigned(std::size_t index) const { return stored_->ranks[index].assigned; }

 private:
  std::optional<std::size_t> Find(std::int32_t rank) const;
  WorkerKey KeyOf(std::size_t index) const { return {id_, assigned(index).rank}; }
  std::optional<Op> NextOpen(std::size_t index) const;
  bool Sendable(std::size_t index, Op op) const;
  Ms DeadlineOf(Op op) const;
  Ms LimitOf(const NodeRank& rank) const;  // when the time limit of its phase passes
  Ms DueOf(const NodeRank& rank) const;
  RankEnd EndOfDeath(std::size_t index, const std::string& how, Ms now) const;
  RankEnd EndOfKill(std::size_t index) const;

  // Makes the transition and returns the action, which the caller carries out.
  RankAction Move(std::size_t index, RankTrigger trigger, const NodeStep& step);
  bool Acts(std::size_t index, RankTrigger trigger) const;

  void Begin(std::size_t index, Op op, const NodeStep& step);
  void Answer(std::size_t index, Op op, OutcomeCode code, const std::string& detail,
              const NodeStep& step);
  void AnswerOpen(std::size_t index, const RankEnd& end, const NodeStep& step);
  // Handles the answer of the worker itself to the op under way.
  void Judge(std::size_t index, OutcomeCode code, const std::string& detail, const NodeStep& step);
  // The actions of transitions to kQuitting and kKilling.
  void Quit(std::size_t index, const NodeStep& step);
  void Kill(std::size_t index, RankEnd end, const NodeStep& step);
  void MakeDeviceSafe(std::size_t index, const NodeStep& step);

  void AnswerUnstarted(std::size_t index, const NodeStep& step);
  void GatherP2p(const NodeStep& step);
  void RunPreparedP2p(const NodeStep& step);

  RunId id_;
  SpooledRun* stored_;
  std::vector<NodeRank> ranks_;  // same order as stored_->ranks
  std::optional<WindUp> wind_up_;
  bool discarded_ = false;
  bool ready_said_ = false;
};

}  // namespace assay::core::node
