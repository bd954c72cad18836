// One run on this node: its ranks, their workers and the barrier before p2p. Internal to
// supervisor.cc.
//
// Events move single ranks; Advance then does whatever has become possible, and Expire whatever is
// due. Thread safety: none; the supervisor owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/node/rank_phase.h"
#include "core/node/step.h"

namespace assay {

inline constexpr Ms kOpenMs = 60'000;  // a worker has this long to open its device

// A run that comes to its end before its time: no further op starts.
struct WindUp {
  std::string unstarted;   // what ops are answered that have not begun
  Ms kill_at = 0;          // until then ops under way are waited for
  std::string killed;      // what ops are answered that were killed then
  bool cancelled = false;  // the coordinator wants it: p2p that only was prepared does not run
};

class NodeRun {
 public:
  // REQUIRES: stored is the run's place in the spool, has its ranks in order and outlives this.
  NodeRun(RunId id, SpooledRun* stored);

  // A new run: each rank gets a worker, or the reason why not.
  void Spawn(std::size_t index, const NodeStep& step);
  void Refuse(std::size_t index, const std::string& reason, const NodeStep& step);
  // A run of before the agent's restart.
  void TakeUp(const NodeStep& step);

  void Start(const NodeStep& step);
  void End(const WindUp& wind_up);
  void Discard(const NodeStep& step);
  // Whether the coordinator's acknowledgement is news.
  bool Acknowledge(const OutcomeKey& key, const NodeStep& step);

  void Opened(std::int32_t rank);
  void Failed(std::int32_t rank, const std::string& reason, const NodeStep& step);
  void Progressed(const WorkerProgressed& said, const NodeStep& step);
  void Prepared(const WorkerP2pPrepared& said, const NodeStep& step);
  void OpDone(const WorkerOpDone& said, const NodeStep& step);
  void Gone(std::int32_t rank, const std::string& how, const NodeStep& step);
  void Safe(const DeviceSafe& said, const NodeStep& step);

  void Advance(const NodeStep& step);
  void Expire(const NodeStep& step);
  Ms Due() const;  // when Expire has something to do; kNever

  // Outcomes that may be said and were not yet, or not acknowledged in time.
  void TakeReports(Ms now, std::vector<OutcomeReport>* reports);
  // Whether the coordinator is to be told now that the run is ready.
  bool TakeReady();
  // Once more which ops have begun.
  void SayUnderWay(const NodeStep& step) const;
  // Everything that may be said is to be said again; with `ready`, that it is ready too.
  void SayAgain(bool ready);

  bool Holds(std::int32_t device) const;
  bool free() const;     // nothing holds its devices
  bool open() const;     // an op has no outcome
  bool settled() const;  // free, and every outcome is acknowledged
  bool owing() const;    // an outcome is not acknowledged
  bool unheard() const;  // an outcome was said and is not acknowledged
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
  Ms DueOf(const NodeRank& rank) const;
  RankEnd EndOfDeath(std::size_t index, const std::string& how, Ms now) const;
  RankEnd EndOfKill(std::size_t index) const;

  void Begin(std::size_t index, Op op, const NodeStep& step);
  void Answer(std::size_t index, Op op, OutcomeCode code, const std::string& detail,
              const NodeStep& step);
  void AnswerOpen(std::size_t index, const RankEnd& end, const NodeStep& step);
  // The worker itself answered the op under way.
  void Judge(std::size_t index, OutcomeCode code, const std::string& detail, const NodeStep& step);
  void Quit(std::size_t index, const NodeStep& step);
  void Kill(std::size_t index, RankEnd end, const NodeStep& step);
  void MakeDeviceSafe(std::size_t index, const NodeStep& step);

  void AnswerUnstarted(std::size_t index, const NodeStep& step);
  void GatherP2p(const NodeStep& step);
  void RunPreparedP2p(const NodeStep& step);

  RunId id_;
  SpooledRun* stored_;
  std::vector<NodeRank> ranks_;  // as stored_->ranks
  std::optional<WindUp> wind_up_;
  bool discarded_ = false;
  bool ready_said_ = false;
};

}  // namespace assay
