// The states of a part (the ranks of a run on one node) and every transition between them, as one
// table: what the coordinator does with one agent. The state of the run decides which trigger an
// event of the agent becomes; Runs (core/cluster/runs.h) makes the transition and carries out its
// action.
//
// A part whose ranks all have an outcome keeps its state.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/transition_table.h"

namespace assay::core {

enum class PartState : std::uint8_t {
  kWaiting,   // not assigned yet
  kAssigned,  // Assign was sent to the agent
  kReady,     // the agent's workers wait for Start
  kStarted,   // Start was sent to the agent (subscribers: notified)
};
inline constexpr int kPartStates = 4;

enum class PartTrigger : std::uint8_t {
  kAssign,       // the run begins and the agent is connected
  kReassign,     // the agent reconnected and does not hold the run
  kNotify,       // the job's subscribers are notified
  kReady,        // the agent is ready while the run prepares
  kStart,        // the run starts, or the agent is ready while the run is testing
  kHeldReady,    // the agent reconnected, holds the run and has not started it; the run is testing
  kHeldStarted,  // the agent reconnected, holds the run and has started it
  kCancel,       // the run is cancelled and the agent is connected
  kCancelAway,   // the run is cancelled and the agent is not connected
  kCancelNotHeld,   // as kReassign, but the run is cancelled
  kPrepareOverdue,  // start_by has passed while the run prepares
  kStartOverdue,  // the time to start has passed while the run is testing or waits for subscribers
  kAnswered,      // the coordinator recorded the outcomes in place of the agent
};
inline constexpr int kPartTriggers = 13;

enum class PartAction : std::uint8_t {
  kIgnore,
  kRecord,              // store the state
  kSendAssign,          // send Assign
  kSendStart,           // send Start
  kSendCancel,          // send Cancel
  kAnswerLost,          // record outcomes: the agent lost a started test
  kAnswerCancelled,     // record outcomes: cancelled
  kAnswerNotConnected,  // record outcomes: the executor is not connected
  kAnswerNotReady,      // record outcomes: the executor is not ready, or not connected any more
  kRelease,             // release the devices: the agent never had the ranks
  kSendDiscard,         // send Discard, now or after the agent's next Hello
};
inline constexpr int kPartActions = 11;

using PartTransitions = TransitionTable<PartState, PartTrigger, PartAction>;
const PartTransitions& PartTable();

std::string_view Name(PartState state);
std::optional<PartState> PartStateFromName(std::string_view name);

}  // namespace assay::core
