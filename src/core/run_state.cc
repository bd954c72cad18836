#include "core/run_state.h"

#include <array>

namespace assay::core {
namespace {

using S = RunState;
using T = RunTrigger;

constexpr std::string_view kStateNames[kRunStates] = {
    "accepted", "preparing", "pausing", "testing", "cancelling", "resuming", "stopping", "closed"};

constexpr std::string_view kTriggerNames[kRunTriggers] = {"assign",
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

constexpr RunTransition kTransitions[] = {
    {S::kAccepted, T::kAssign, S::kPreparing,
     "send every agent its ranks; each prepares its workers"},
    {S::kAccepted, T::kNotify, S::kTesting, "notify the job's subscribers"},
    {S::kAccepted, T::kNotifyPause, S::kPausing, "tell the trainer to pause"},
    {S::kAccepted, T::kCancel, S::kCancelling, "record `1 cancelled` for every rank"},
    {S::kAccepted, T::kAllAnswered, S::kClosed, "publish the result: no rank could start"},

    {S::kPreparing, T::kAllReady, S::kTesting, "tell the agents to start"},
    {S::kPreparing, T::kAllReadyPause, S::kPausing, "tell the trainer to pause"},
    {S::kPreparing, T::kCancel, S::kCancelling, "tell the agents to cancel"},
    {S::kPreparing, T::kAllAnswered, S::kClosed, "publish the result: no rank could start"},

    {S::kPausing, T::kPaused, S::kTesting, "start the agents or notify the subscribers"},
    {S::kPausing, T::kPauseFailed, S::kClosed,
     "record code `1` for every rank; publish the result"},
    {S::kPausing, T::kCancel, S::kCancelling, "tell the agents to cancel"},

    {S::kTesting, T::kCancel, S::kCancelling,
     "tell the agents to cancel; wait for the subscribers' replies"},
    {S::kTesting, T::kAllAnswered, S::kClosed, "publish the result"},
    {S::kTesting, T::kAllAnsweredResume, S::kResuming,
     "publish the result; tell the trainer to continue"},
    {S::kTesting, T::kAllAnsweredStop, S::kStopping,
     "publish the result; tell the trainer to stop"},

    {S::kCancelling, T::kAllAnswered, S::kClosed, "publish the result"},
    {S::kCancelling, T::kAllAnsweredResume, S::kResuming,
     "publish the result; tell the trainer to continue"},
    {S::kCancelling, T::kAllAnsweredStop, S::kStopping,
     "publish the result; tell the trainer to stop"},

    {S::kResuming, T::kResumed, S::kClosed, "close"},
    {S::kStopping, T::kStopped, S::kClosed, "close"},
};

// [state][trigger] -> index into kTransitions, plus 1; 0: no transition.
constexpr auto MakeIndex() {
  std::array<std::array<std::uint8_t, kRunTriggers>, kRunStates> index{};
  std::uint8_t place = 0;
  for (const RunTransition& row : kTransitions) {
    ++place;
    index[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.trigger)] = place;
  }
  return index;
}
constexpr auto kIndex = MakeIndex();

}  // namespace

std::string_view Name(RunState state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::string_view Name(RunTrigger trigger) {
  return kTriggerNames[static_cast<std::size_t>(trigger)];
}

std::optional<RunState> RunStateFromName(std::string_view name) {
  for (int i = 0; i < kRunStates; ++i) {
    if (kStateNames[i] == name) return static_cast<RunState>(i);
  }
  return std::nullopt;
}

std::span<const RunTransition> RunTransitions() { return kTransitions; }

std::optional<RunState> RunMove(RunState state, RunTrigger trigger) {
  const std::uint8_t place =
      kIndex[static_cast<std::size_t>(state)][static_cast<std::size_t>(trigger)];
  if (place == 0) return std::nullopt;
  return kTransitions[place - 1].to;
}

std::string RunTableMarkdown() {
  std::string text = "| state | trigger | next | what happens |\n|---|---|---|---|\n";
  for (const RunTransition& row : kTransitions) {
    text.append("| ").append(Name(row.from)).append(" | ").append(Name(row.trigger));
    text.append(" | ").append(Name(row.to)).append(" | ").append(row.does).append(" |\n");
  }
  return text;
}

}  // namespace assay::core
