#include "core/node/rank_phase.h"

#include <array>

namespace assay::core::node {
namespace {

using P = RankPhase;
using T = RankTrigger;

constexpr std::string_view kPhaseNames[kRankPhases] = {"free",      "opening",  "idle", "aic",
                                                       "preparing", "prepared", "p2p",  "quitting",
                                                       "killing",   "safing"};

constexpr std::string_view kTriggerNames[kRankTriggers] = {
    "spawn",    "opened", "run_aic", "prepare_p2p", "prepared",    "run_p2p",
    "answered", "quit",   "kill",    "gone",        "gone_unsafe", "safe"};

constexpr RankTransition kTransitions[] = {
    {P::kFree, T::kSpawn, P::kOpening},
    {P::kFree, T::kGoneUnsafe, P::kSafing},  // the agent restarted: its worker died with it

    {P::kOpening, T::kOpened, P::kIdle},
    {P::kOpening, T::kQuit, P::kQuitting},
    {P::kOpening, T::kKill, P::kKilling},
    {P::kOpening, T::kGone, P::kFree},

    {P::kIdle, T::kRunAic, P::kAic},
    {P::kIdle, T::kPrepareP2p, P::kPreparing},
    {P::kIdle, T::kQuit, P::kQuitting},
    {P::kIdle, T::kKill, P::kKilling},
    {P::kIdle, T::kGone, P::kFree},
    {P::kIdle, T::kGoneUnsafe, P::kSafing},

    {P::kAic, T::kAnswered, P::kIdle},
    {P::kAic, T::kKill, P::kKilling},
    {P::kAic, T::kGoneUnsafe, P::kSafing},

    {P::kPreparing, T::kPrepared, P::kPrepared},
    {P::kPreparing, T::kAnswered, P::kIdle},
    {P::kPreparing, T::kKill, P::kKilling},
    {P::kPreparing, T::kGoneUnsafe, P::kSafing},

    {P::kPrepared, T::kRunP2p, P::kP2p},
    {P::kPrepared, T::kAnswered, P::kIdle},
    {P::kPrepared, T::kKill, P::kKilling},
    {P::kPrepared, T::kGoneUnsafe, P::kSafing},

    {P::kP2p, T::kAnswered, P::kIdle},
    {P::kP2p, T::kKill, P::kKilling},
    {P::kP2p, T::kGoneUnsafe, P::kSafing},

    {P::kQuitting, T::kKill, P::kKilling},
    {P::kQuitting, T::kGone, P::kFree},

    {P::kKilling, T::kGone, P::kFree},
    {P::kKilling, T::kGoneUnsafe, P::kSafing},

    {P::kSafing, T::kSafe, P::kFree},
};

// [phase][trigger] -> index into kTransitions + 1; 0 where there is no row.
constexpr auto MakeIndex() {
  std::array<std::array<std::uint8_t, kRankTriggers>, kRankPhases> index{};
  std::uint8_t place = 0;
  for (const RankTransition& row : kTransitions) {
    ++place;
    index[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.trigger)] = place;
  }
  return index;
}
constexpr auto kIndex = MakeIndex();

}  // namespace

std::string_view Name(RankPhase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }
std::string_view Name(RankTrigger trigger) {
  return kTriggerNames[static_cast<std::size_t>(trigger)];
}

std::span<const RankTransition> RankTransitions() { return kTransitions; }

std::optional<RankPhase> RankMove(RankPhase phase, RankTrigger trigger) {
  const std::uint8_t place =
      kIndex[static_cast<std::size_t>(phase)][static_cast<std::size_t>(trigger)];
  if (place == 0) return std::nullopt;
  return kTransitions[place - 1].to;
}

std::optional<Op> UnderWay(RankPhase phase) {
  switch (phase) {
    case P::kAic:
      return Op::kAic;
    case P::kPreparing:
    case P::kPrepared:
    case P::kP2p:
      return Op::kP2p;
    default:
      return std::nullopt;
  }
}

bool NodeRank::Move(RankTrigger trigger) {
  const std::optional<RankPhase> to = RankMove(phase, trigger);
  if (!to) return false;
  phase = *to;
  return true;
}

}  // namespace assay::core::node
