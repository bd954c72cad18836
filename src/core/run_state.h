// The states of a run (one stress test of one job) and every move between them, as one table.
//
// A run's state says what the coordinator waits for. The table is total: a trigger that has no row
// in a state changes nothing there (RunMove says so by returning no value), so a late or repeated
// event is never an error. docs/run.md is made from this table (RunTableMarkdown) and a test keeps
// it so.
//
// Rows with a trainer belong to jobs whose training agent can pause and resume (docs/wire.md 4):
// the phases are part of the machine from the start; a job without a trainer never triggers them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

enum class RunState : std::uint8_t {
  kAccepted,    // recorded; nobody has been told
  kPreparing,   // assigned to agents; their workers get ready
  kPausing,     // the trainer was told to pause
  kTesting,     // ranks were notified or told to start
  kCancelling,  // asked to end; what is under way ends as at a deadline
  kResuming,    // the result is decided; the trainer was told to continue
  kStopping,    // the result is decided; the trainer was told to stop
  kClosed,
};
inline constexpr int kRunStates = 8;

enum class RunTrigger : std::uint8_t {
  kAssign,             // its agents are told what to prepare
  kAllReady,           // every part is ready or out; the job has no trainer
  kAllReadyPause,      // the same; the job's trainer must pause first
  kNotify,             // its subscriber is notified; the job has no trainer
  kNotifyPause,        // the job's trainer must pause before that
  kPaused,             // the trainer reported that it stands
  kPauseFailed,        // the trainer refused, is away or did not report in time
  kCancel,             // somebody asked to end it
  kAllAnswered,        // no outcome is missing; no trainer waits
  kAllAnsweredResume,  // no outcome is missing; the trainer may go on (codes 0 and 1)
  kAllAnsweredStop,    // no outcome is missing; the trainer must stop (codes 2, 3, 4)
  kResumed,            // the trainer goes on, or nothing more is expected of it
  kStopped,            // the trainer stopped, or nothing more is expected of it
};
inline constexpr int kRunTriggers = 13;

std::string_view Name(RunState state);
std::string_view Name(RunTrigger trigger);
std::optional<RunState> RunStateFromName(std::string_view name);

struct RunTransition {
  RunState from;
  RunTrigger trigger;
  RunState to;
  std::string_view does;  // for people
};
std::span<const RunTransition> RunTransitions();

// Where `trigger` leads from `state`; no value: it changes nothing there.
std::optional<RunState> RunMove(RunState state, RunTrigger trigger);

std::string RunTableMarkdown();

}  // namespace assay
