// One rank on its device: the phases of its worker and every move between them, as one typed table.
//
// A phase says what holds the device and what the supervisor waits for. The table is total: a
// trigger that has no row in a phase changes nothing there, so a late, repeated or reordered event
// is never an error. A rank has at most one worker in its life. Internal to supervisor.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/node/supervisor.h"

namespace assay {

enum class RankPhase : std::uint8_t {
  kFree,       // no worker: not yet, or no more; the device is free once all ops are answered
  kOpening,    // its worker opens the device
  kIdle,       // its worker waits: for the start, for the other ranks before p2p
  kAic,        // under way
  kPreparing,  // p2p is under way: its worker makes what its peers need ...
  kPrepared,   // ... waits for the peers ...
  kP2p,        // ... and runs it
  kQuitting,   // its worker was told to quit
  kKilling,    // its worker was killed and is not gone yet
  kSafing,     // its worker is gone, the device is being made safe
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
  kQuit,        // the supervisor wants nothing more of the worker
  kKill,        // a bound passed, or nobody waits any more
  kGone,        // the process is gone and never touched the device, or left it as it should
  kGoneUnsafe,  // the process is gone and may have left the device changed
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

// Where `trigger` leads from `phase`; no value: it changes nothing there.
std::optional<RankPhase> RankMove(RankPhase phase, RankTrigger trigger);

// The op that is under way in `phase`.
std::optional<Op> UnderWay(RankPhase phase);

// What the open ops of a rank are answered with when its worker is gone (and its device safe).
struct RankEnd {
  OutcomeCode code = OutcomeCode::kNotRun;
  std::string detail;
  std::string later;  // ops after the first; empty: "not started after aic <outcome>"
};

// The part of a rank that does not outlive the process.
struct NodeRank {
  RankPhase phase = RankPhase::kFree;
  // kOpening, kQuitting: when its worker is killed. Op under way: its deadline.
  Ms until = 0;
  Ms progress_from = 0;  // its op's progress is not passed on before
  OpSet sent;            // outcomes said on this link and not to be said again yet
  std::string blob;      // kPrepared: what its peers need
  RankEnd end;           // kKilling, kSafing

  // Takes the move if the table has it.
  bool Move(RankTrigger trigger);
};

}  // namespace assay
