#include "core/run_state.h"

namespace assay::core {
namespace {

using S = RunState;
using T = RunTrigger;
using A = RunAction;

constexpr bool kPlanned = true;

constexpr std::string_view kStates[kRunStates] = {"accepted",   "preparing", "pausing",  "testing",
                                                  "cancelling", "resuming",  "stopping", "closed"};

constexpr std::string_view kTriggers[kRunTriggers] = {"assign",
                                                      "all_ready",
                                                      "all_ready_pause",
                                                      "notify",
                                                      "notify_pause",
                                                      "paused",
                                                      "pause_failed",
                                                      "cancel",
                                                      "all_answered",
                                                      "all_answered_resume",
                                                      "all_answered_stop",
                                                      "resumed",
                                                      "stopped"};

constexpr std::string_view kActions[kRunActions] = {
    "nothing",
    "send every agent its ranks; each prepares its workers",
    "notify the job's subscribers",
    "tell the agents to start",
    "tell the trainer to pause",
    "start the agents or notify the subscribers",
    "record `1 cancelled` for every rank",
    "tell the agents to cancel; wait for the subscribers' replies",
    "publish the result",
    "publish the result; tell the trainer to continue",
    "publish the result; tell the trainer to stop",
    "record code `1` for every rank; publish the result",
    "close",
};

constexpr RunTransitions::Row kRows[] = {
    {S::kAccepted, T::kAssign, S::kPreparing, A::kAssign},
    {S::kAccepted, T::kNotify, S::kTesting, A::kNotify},
    {S::kAccepted, T::kNotifyPause, S::kPausing, A::kPause, kPlanned},
    {S::kAccepted, T::kCancel, S::kCancelling, A::kAnswerCancelled},
    {S::kAccepted, T::kAllAnswered, S::kClosed, A::kEnd},  // no rank could start

    {S::kPreparing, T::kAllReady, S::kTesting, A::kStart},
    {S::kPreparing, T::kAllReadyPause, S::kPausing, A::kPause, kPlanned},
    {S::kPreparing, T::kCancel, S::kCancelling, A::kCancel},
    {S::kPreparing, T::kAllAnswered, S::kClosed, A::kEnd},  // no rank could start

    {S::kPausing, T::kPaused, S::kTesting, A::kStartPaused, kPlanned},
    {S::kPausing, T::kPauseFailed, S::kClosed, A::kEndNotPaused, kPlanned},
    {S::kPausing, T::kCancel, S::kCancelling, A::kCancel, kPlanned},

    {S::kTesting, T::kNotify, S::kTesting, A::kIgnore},  // another subscriber attached
    {S::kTesting, T::kCancel, S::kCancelling, A::kCancel},
    {S::kTesting, T::kAllAnswered, S::kClosed, A::kEnd},
    {S::kTesting, T::kAllAnsweredResume, S::kResuming, A::kEndResume, kPlanned},
    {S::kTesting, T::kAllAnsweredStop, S::kStopping, A::kEndStop, kPlanned},

    {S::kCancelling, T::kNotify, S::kCancelling, A::kIgnore},
    {S::kCancelling, T::kCancel, S::kCancelling, A::kIgnore},  // a client repeated its request
    {S::kCancelling, T::kAllAnswered, S::kClosed, A::kEnd},
    {S::kCancelling, T::kAllAnsweredResume, S::kResuming, A::kEndResume, kPlanned},
    {S::kCancelling, T::kAllAnsweredStop, S::kStopping, A::kEndStop, kPlanned},

    {S::kResuming, T::kResumed, S::kClosed, A::kClose, kPlanned},
    {S::kStopping, T::kStopped, S::kClosed, A::kClose, kPlanned},
};

constexpr RunTransitions kTable({kStates, kTriggers, kActions, kRows, {}});

}  // namespace

const RunTransitions& RunTable() { return kTable; }
std::string_view Name(RunState state) { return kTable.Name(state); }
std::optional<RunState> RunStateFromName(std::string_view name) {
  return kTable.StateFromName(name);
}

}  // namespace assay::core
