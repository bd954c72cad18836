#include "core/part_state.h"

namespace assay::core {
namespace {

using S = PartState;
using T = PartTrigger;
using A = PartAction;

constexpr std::string_view kStates[kPartStates] = {"waiting", "assigned", "ready", "started"};

constexpr std::string_view kTriggers[kPartTriggers] = {
    "assign",          "reassign",      "notify",  "ready",       "start",
    "held_ready",      "held_started",  "cancel",  "cancel_away", "cancel_not_held",
    "prepare_overdue", "start_overdue", "answered"};

constexpr std::string_view kActions[kPartActions] = {
    "nothing",
    "store the state",
    "send Assign",
    "send Start",
    "send Cancel",
    "record `1 the agent no longer has the test`",
    "record `1 cancelled`",
    "record `1 executor not connected`",
    "record `1 executor not ready`, or `1 executor not connected`",
    "release the devices",
    "send Discard, now or when the agent reconnects",
};

constexpr PartTransitions::Row kRows[] = {
    {S::kWaiting, T::kAssign, S::kAssigned, A::kSendAssign},
    {S::kWaiting, T::kReassign, S::kAssigned, A::kSendAssign},
    {S::kWaiting, T::kNotify, S::kStarted, A::kRecord},
    // The agent has the run from a time that this coordinator does not know of: its database was
    // restored from a copy.
    {S::kWaiting, T::kReady, S::kReady, A::kRecord},
    {S::kWaiting, T::kStart, S::kStarted, A::kSendStart},
    {S::kWaiting, T::kHeldReady, S::kWaiting, A::kIgnore},  // Ready follows
    {S::kWaiting, T::kHeldStarted, S::kStarted, A::kRecord},
    {S::kWaiting, T::kCancel, S::kWaiting, A::kAnswerCancelled},
    {S::kWaiting, T::kCancelAway, S::kWaiting, A::kAnswerCancelled},
    {S::kWaiting, T::kPrepareOverdue, S::kWaiting, A::kAnswerNotConnected},
    {S::kWaiting, T::kStartOverdue, S::kWaiting, A::kAnswerNotConnected},
    {S::kWaiting, T::kAnswered, S::kWaiting, A::kRelease},

    {S::kAssigned, T::kReassign, S::kAssigned, A::kSendAssign},  // Assign was lost with the link
    {S::kAssigned, T::kReady, S::kReady, A::kRecord},
    {S::kAssigned, T::kStart, S::kStarted, A::kSendStart},
    {S::kAssigned, T::kHeldReady, S::kAssigned, A::kIgnore},  // Ready follows
    {S::kAssigned, T::kHeldStarted, S::kStarted, A::kRecord},
    {S::kAssigned, T::kCancel, S::kAssigned, A::kSendCancel},
    {S::kAssigned, T::kCancelAway, S::kAssigned, A::kAnswerCancelled},
    {S::kAssigned, T::kCancelNotHeld, S::kAssigned, A::kAnswerCancelled},
    {S::kAssigned, T::kPrepareOverdue, S::kAssigned, A::kAnswerNotReady},
    {S::kAssigned, T::kStartOverdue, S::kAssigned, A::kAnswerNotReady},
    {S::kAssigned, T::kAnswered, S::kAssigned, A::kSendDiscard},

    {S::kReady, T::kReassign, S::kAssigned, A::kSendAssign},  // the agent lost its state
    {S::kReady, T::kReady, S::kReady, A::kIgnore},
    {S::kReady, T::kStart, S::kStarted, A::kSendStart},
    {S::kReady, T::kHeldReady, S::kStarted, A::kSendStart},
    {S::kReady, T::kHeldStarted, S::kStarted, A::kRecord},
    {S::kReady, T::kCancel, S::kReady, A::kSendCancel},
    {S::kReady, T::kCancelAway, S::kReady, A::kAnswerCancelled},
    {S::kReady, T::kCancelNotHeld, S::kReady, A::kAnswerCancelled},
    {S::kReady, T::kPrepareOverdue, S::kReady, A::kIgnore},            // waits for the other parts
    {S::kReady, T::kStartOverdue, S::kReady, A::kAnswerNotConnected},  // else Start was sent
    {S::kReady, T::kAnswered, S::kReady, A::kSendDiscard},

    // The agent stores a run before it sends Ready. If it does not hold a started run, it lost it.
    {S::kStarted, T::kReassign, S::kStarted, A::kAnswerLost},
    {S::kStarted, T::kReady, S::kReady, A::kRecord},
    {S::kStarted, T::kStart, S::kStarted, A::kSendStart},      // Start was lost with the link
    {S::kStarted, T::kHeldReady, S::kStarted, A::kSendStart},  // Start was lost with the link
    {S::kStarted, T::kHeldStarted, S::kStarted, A::kIgnore},
    {S::kStarted, T::kCancel, S::kStarted, A::kSendCancel},
    {S::kStarted, T::kCancelAway, S::kStarted, A::kIgnore},  // it may reconnect by the deadline
    {S::kStarted, T::kCancelNotHeld, S::kStarted, A::kAnswerCancelled},
    {S::kStarted, T::kPrepareOverdue, S::kStarted, A::kIgnore},  // has deadlines of its own
    {S::kStarted, T::kStartOverdue, S::kStarted, A::kIgnore},
    {S::kStarted, T::kAnswered, S::kStarted, A::kSendDiscard},
};

constexpr PartTransitions kTable({kStates, kTriggers, kActions, kRows, {}});

}  // namespace

const PartTransitions& PartTable() { return kTable; }
std::string_view Name(PartState state) { return kTable.Name(state); }
std::optional<PartState> PartStateFromName(std::string_view name) {
  return kTable.StateFromName(name);
}

}  // namespace assay::core
