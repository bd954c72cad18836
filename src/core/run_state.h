// The states of a run (one stress test of one job) and every transition between them, as one table.
//
// The state names what the coordinator waits for. The table is total: a trigger without a row in a
// state changes nothing there (RunMove returns no value), so a late or repeated event is never an
// error. The table in docs/run.md is the output of RunTableMarkdown(); a test compares them.
//
// Rows with a trainer apply to jobs whose training agent can pause and resume (docs/wire.md 4); a
// job without a trainer never triggers them.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

std::string_view Name(RunState state);
std::string_view Name(RunTrigger trigger);
std::optional<RunState> RunStateFromName(std::string_view name);

struct RunTransition {
  RunState from;
  RunTrigger trigger;
  RunState to;
  std::string_view does;  // description for docs/run.md
};
std::span<const RunTransition> RunTransitions();

// Returns the next state, or no value if `trigger` changes nothing in `state`.
std::optional<RunState> RunMove(RunState state, RunTrigger trigger);

std::string RunTableMarkdown();

}  // namespace assay::core
