// One rank on its device: the phases of its worker and all transitions, as one typed table.
// Internal to supervisor.cc.
//
// A phase defines what holds the device and what the supervisor waits for. The table is total: a
// trigger without a row for a phase changes nothing there, so a late, repeated or reordered event
// is never an error. A rank has at most one worker in its life.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/node/supervisor.h"

namespace assay::core::node {

enum class RankPhase : std::uint8_t {
  kFree,       // no worker: not yet or not any more; all ops answered: the device is free
  kOpening,    // the worker opens the device
  kIdle,       // the worker waits for the start, or for the other ranks before p2p
  kAic,        // aic is under way
  kPreparing,  // p2p is under way: the worker prepares the blob that its peers need
  kPrepared,   // p2p is under way: the worker waits for its peers
  kP2p,        // p2p is under way: the worker runs it
  kQuitting,   // QuitWorker was issued; the worker has not exited yet
  kKilling,    // KillWorker was issued; the worker has not exited yet
  kSafing,     // the worker has exited; the device is being made safe
};
inline constexpr int kRankPhases = 10;

enum class RankTrigger : std::uint8_t {
  kSpawn,
  kOpened,
  kRunAic,
  kPrepareP2p,
  kPrepared,
  kRunP2p,
  kAnswered,    // the op under way has its outcome, the worker is alive
  kQuit,        // the worker has nothing more to do
  kKill,        // a time limit passed, or the run was discarded
  kGone,        // the process exited before any op began, or after QuitWorker: the device is safe
  kGoneUnsafe,  // the process exited otherwise and may have left the device changed
  kSafe,
};
inline constexpr int kRankTriggers = 12;

std::string_view Name(RankPhase phase);
std::string_view Name(RankTrigger trigger);

struct RankTransition {
  RankPhase from;
  RankTrigger trigger;
  RankPhase to;
};
std::span<const RankTransition> RankTransitions();

// The phase after `trigger` in `phase`; no value if the trigger changes nothing there.
std::optional<RankPhase> RankMove(RankPhase phase, RankTrigger trigger);

// The op that is under way in `phase`, if any.
std::optional<Op> UnderWay(RankPhase phase);

// The outcomes of a rank's open ops, recorded once its worker has exited and its device is safe.
struct RankEnd {
  OutcomeCode code = OutcomeCode::kNotRun;
  std::string detail;
  std::string later;  // detail of ops after the first; empty: "not started after aic <outcome>"
};

// The part of a rank's state that is in memory only.
struct NodeRank {
  RankPhase phase = RankPhase::kFree;
  // kOpening, kQuitting: when the worker is killed. Op under way: the op's deadline.
  Ms until = 0;
  Ms progress_from = 0;  // when the next progress of the op may be sent
  OpSet sent;            // outcomes sent on this link; NodeRun::SayAgain clears it
  std::string blob;      // kPrepared: what the peers need
  RankEnd end;           // kKilling, kSafing

  // Makes the transition and returns true if the table has it.
  bool Move(RankTrigger trigger);
};

}  // namespace assay::core::node
