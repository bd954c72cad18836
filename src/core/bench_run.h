// One run on this node: its ranks, their workers and the barrier before p2p. Internal to bench.cc.
//
// Events move single ranks; Advance then does whatever has become possible, and Expire whatever is
// due. Thread safety: none; the bench owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bench_rank.h"
#include "core/bench_step.h"

namespace assay {

inline constexpr Ms kOpenMs = 60'000;  // a worker has this long to open its device

// A run that comes to its end before its time: no further op starts.
struct WindUp {
  std::string unstarted;   // what ops are answered that have not begun
  Ms kill_at = 0;          // until then ops under way are waited for
  std::string killed;      // what ops are answered that were killed then
  bool cancelled = false;  // the coordinator wants it: p2p that only was prepared does not run
};

class BenchRun {
 public:
  // REQUIRES: stored is the run's place in the spool, has its ranks in order and outlives this.
  BenchRun(RunId id, SpooledRun* stored);

  // A new run: each rank gets a worker, or the reason why not.
  void Spawn(std::size_t index, const BenchStep& step);
  void Refuse(std::size_t index, const std::string& reason, const BenchStep& step);
  // A run of before the agent's restart.
  void TakeUp(const BenchStep& step);

  void Start(const BenchStep& step);
  void End(const WindUp& wind_up);
  void Discard(const BenchStep& step);
  // Whether the coordinator's acknowledgement is news.
  bool Acknowledge(const OutcomeKey& key, const BenchStep& step);

  void Opened(std::int32_t rank);
  void Failed(std::int32_t rank, const std::string& reason, const BenchStep& step);
  void Progressed(const WorkerProgressed& said, const BenchStep& step);
  void Prepared(const WorkerP2pPrepared& said, const BenchStep& step);
  void OpDone(const WorkerOpDone& said, const BenchStep& step);
  void Gone(std::int32_t rank, const std::string& how, const BenchStep& step);
  void Safe(const DeviceSafe& said, const BenchStep& step);

  void Advance(const BenchStep& step);
  void Expire(const BenchStep& step);
  Ms Due() const;  // when Expire has something to do; kNever

  // Outcomes that may be said and were not yet, or not acknowledged in time.
  void TakeReports(Ms now, std::vector<OutcomeReport>* reports);
  // Whether the coordinator is to be told now that the run is ready.
  bool TakeReady();
  // Once more which ops have begun.
  void SayUnderWay(const BenchStep& step) const;
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
  Ms DueOf(const BenchRank& rank) const;
  RankEnd EndOfDeath(std::size_t index, const std::string& how, Ms now) const;
  RankEnd EndOfKill(std::size_t index) const;

  void Begin(std::size_t index, Op op, const BenchStep& step);
  void Answer(std::size_t index, Op op, OutcomeCode code, const std::string& detail,
              const BenchStep& step);
  void AnswerOpen(std::size_t index, const RankEnd& end, const BenchStep& step);
  // The worker itself answered the op under way.
  void Judge(std::size_t index, OutcomeCode code, const std::string& detail, const BenchStep& step);
  void Quit(std::size_t index, const BenchStep& step);
  void Kill(std::size_t index, RankEnd end, const BenchStep& step);
  void MakeDeviceSafe(std::size_t index, const BenchStep& step);

  void AnswerUnstarted(std::size_t index, const BenchStep& step);
  void GatherP2p(const BenchStep& step);
  void RunPreparedP2p(const BenchStep& step);

  RunId id_;
  SpooledRun* stored_;
  std::vector<BenchRank> ranks_;  // as stored_->ranks
  std::optional<WindUp> wind_up_;
  bool discarded_ = false;
  bool ready_said_ = false;
};

}  // namespace assay
