// The states of a run (one stress test of one job) and every transition between them, as one table.
//
// The state names what the coordinator waits for. Runs (core/cluster/runs.h) makes each transition
// and carries out its action. docs/run.md is made from this table and those in core/part_state.h
// and core/node/rank_phase.h; a test compares them.
//
// The planned rows apply to jobs whose training agent can pause and resume (docs/wire.md 4). No
// code causes their triggers yet.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/transition_table.h"

namespace assay::core {

enum class RunState : std::uint8_t {
  kAccepted,    // recorded; no executor has been notified
  kPreparing,   // assigned to agents, which prepare their workers
  kPausing,     // the trainer was asked to pause
  kTesting,     // the ranks were started or notified
  kCancelling,  // cancelled; ops that are running end as at a deadline
  kResuming,    // the result is final; the trainer was asked to continue
  kStopping,    // the result is final; the trainer was asked to stop
  kClosed,
};
inline constexpr int kRunStates = 8;

enum class RunTrigger : std::uint8_t {
  kAssign,             // the agents get their ranks
  kAllReady,           // every part is ready or fully answered; the job has no trainer
  kAllReadyPause,      // as kAllReady, but the job's trainer must pause first
  kNotify,             // the job's subscribers are notified; the job has no trainer
  kNotifyPause,        // as kNotify, but the job's trainer must pause first
  kPaused,             // the trainer reported that it has paused
  kPauseFailed,        // the trainer refused, is not connected or did not report in time
  kCancel,             // a client cancelled the run
  kAllAnswered,        // no outcome is missing; no trainer is paused
  kAllAnsweredResume,  // no outcome is missing; the trainer may continue (codes 0 and 1)
  kAllAnsweredStop,    // no outcome is missing; the trainer must stop (codes 2, 3, 4)
  kResumed,            // the trainer continues, or no further report is expected from it
  kStopped,            // the trainer stopped, or no further report is expected from it
};
inline constexpr int kRunTriggers = 13;

enum class RunAction : std::uint8_t {
  kIgnore,
  kAssign,           // assign the ranks to the agents
  kNotify,           // notify the subscribers
  kStart,            // start the agents
  kPause,            // ask the trainer to pause
  kStartPaused,      // the trainer has paused: start the agents or notify the subscribers
  kAnswerCancelled,  // record an outcome for all ranks: none was started
  kCancel,           // cancel the ranks that may run
  kEnd,              // publish the result
  kEndResume,        // publish the result; the trainer continues
  kEndStop,          // publish the result; the trainer stops
  kEndNotPaused,     // record an outcome for all ranks and publish the result
  kClose,
};
inline constexpr int kRunActions = 13;

using RunTransitions = TransitionTable<RunState, RunTrigger, RunAction>;
const RunTransitions& RunTable();

std::string_view Name(RunState state);
std::optional<RunState> RunStateFromName(std::string_view name);

}  // namespace assay::core
