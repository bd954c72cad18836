// The agent's work between two waits: takes the events that have arrived as one batch, steps it
// through the supervisor, commits the batch's records to the spool, and then performs the
// supervisor's effects. It has no thread, no clock and no descriptors, so that tests simulate it as
// it ships; AgentLoop adds those.
//
//   turn.Step(std::move(events), clock.Now());  // events of the link
//   turn.Release(clock.Now());                  // a commit takes time, hence a later `now`
//   if (turn.finished()) ...
//   wait until turn.NextDeadline(now), a link event, a stop request or, if turn.takes_workers(), an
//   event of a worker
//
// Invariants:
// 1. No effect is performed before the records of its batch are committed.
// 2. While a commit fails, the turn steps nothing else: workers keep running, the link stays up,
//    and the turn retries the same commit. Events of the link are kept until then; those of workers
//    stay with WorkersPort. After commit_timeout it kills the workers and rebuilds the supervisor
//    from the spool, as after a restart of the agent: an op that had begun ends as
//    `1 agent restarted during the test` once its device is safe and the disk accepts records
//    again. The ranks of a run that could not be stored at all are answered at once with the disk's
//    error.
// 3. Messages of a batch go only to the stream that was up when the batch was stepped; if that
//    stream has ended, they are dropped.
// 4. A supervisor gets events only of workers that it started itself.
//
// Thread safety: none. Lifetime: the ports outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "core/model.h"
#include "core/node/supervisor.h"

namespace assay::agent {

class Turn {
 public:
  // commit_timeout: see invariant 2. `spooled` is what the spool holds.
  Turn(core::Ms commit_timeout, core::Node self, core::node::Spooled spooled, LinkPort* link,
       WorkersPort* workers, SpoolPort* spool);

  // Accepts no more work and waits up to `grace` for the ops under way.
  void RequestStop(core::Ms grace);
  // Kills the workers and makes their devices safe.
  void ForceStop();

  // Steps `events`, those kept and those of the workers, and commits. Returns whether it stepped
  // anything.
  bool Step(std::vector<core::node::NodeEvent> events, core::Ms now);
  // Performs the effects of a committed batch. Call it after every Step.
  void Release(core::Ms now);
  // The latest time of the next Step and Release.
  core::Ms NextDeadline(core::Ms now) const;

  // Whether the next Step collects the events of workers.
  bool takes_workers() const { return phase_ == Phase::kServing || phase_ == Phase::kKilling; }
  // Whether the spool accepts records, as far as known.
  bool serving() const { return phase_ == Phase::kServing; }
  // A stop was requested and is complete.
  bool finished() const { return phase_ == Phase::kFinished; }

  const core::node::Supervisor& supervisor() const { return supervisor_; }

 private:
  enum class Phase : std::uint8_t {
    kServing,
    kStoring,  // the batch's commit fails; it is retried at retry_at_
    kKilling,  // the workers are killed; the refusals of new runs are being sent
    kLoading,  // the spool is loaded again at retry_at_
    kFinished,
  };
  enum class Stop : std::uint8_t { kNo, kAsked, kForced };
  struct Batch {
    // No member initializers: clang cannot use those of a nested class in the optional below.
    // emplace() sets all to zero.
    core::node::NodeOutput out;
    std::uint64_t stream;  // that was up when the batch was stepped
    bool committed;
  };

  bool StepBatch(core::Ms now);
  void ForwardStop(core::Ms now, std::vector<core::node::NodeEvent>* events);
  void Perform(const core::node::NodeEffect& effect, std::uint64_t stream, core::Ms now);
  void FinishStop(core::Ms now);

  void Commit(core::Ms now);
  void RetryCommit(core::Ms now);
  void RestartFromSpool(core::Ms now);
  bool RefuseNewRuns(const std::vector<core::node::SpoolRecord>& records, core::Ms now);
  void AwaitKilled(core::Ms now);
  void Load(core::Ms now);
  bool StopsWithoutDisk() const;

  const core::Ms commit_timeout_;
  const core::Node self_;
  LinkPort& link_;
  WorkersPort& workers_;
  SpoolPort& spool_;
  core::node::Supervisor supervisor_;

  Phase phase_ = Phase::kServing;
  std::vector<core::node::NodeEvent> kept_;  // events of the link that are not stepped yet
  std::optional<Batch> batch_;               // stepped, not yet released
  core::Ms supervisor_due_ = 0;

  // kStoring, kLoading
  core::Ms retry_at_ = 0;
  core::Ms retry_pause_ = 0;
  core::Ms give_up_at_ = 0;
  bool logged_disk_error_ = false;
  std::string disk_error_;  // of the last commit
  // kKilling
  core::Ms killed_by_ = 0;
  core::Ms sent_by_ = 0;

  Stop stop_ = Stop::kNo;            // the stop that was requested
  Stop forwarded_stop_ = Stop::kNo;  // the stop that was passed to the supervisor
  core::Ms stop_grace_ = 0;
  core::Ms forced_by_ = 0;  // when to leave behind worker processes that do not exit; 0: not yet
  core::Ms leave_by_ = 0;   // when to stop waiting for acknowledgements; 0: not leaving yet
};

}  // namespace assay::agent
