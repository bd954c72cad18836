// One rank on its device: the phases of its worker and all transitions, as one typed table.
// Internal to supervisor.cc.
//
// A phase defines what holds the device and what the supervisor waits for. NodeRun (node_run.h)
// makes each transition and carries out its action. A rank has at most one worker in its life.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/node/supervisor.h"
#include "core/transition_table.h"

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
  kOpenFailed,
  kRunAic,
  kPrepareP2p,
  kPrepared,
  kRunP2p,
  kAnswered,    // the op under way has its outcome, the worker is alive
  kStopping,    // the agent stops: ops that have not begun do not start
  kCancelled,   // the run is cancelled: as kStopping, and p2p that is only prepared does not run
  kQuit,        // the worker has nothing more to do
  kOverdue,     // the time limit of the phase has passed
  kKill,        // the time limit of a run that ends early has passed
  kDiscard,     // the run is discarded
  kGone,        // the process exited before any op began: the device is safe
  kGoneUnsafe,  // the process exited after an op had begun
  kRestarted,   // the agent restarted after an op had begun: its worker died with it
  kSafe,        // the device was made safe
};
inline constexpr int kRankTriggers = 18;

enum class RankAction : std::uint8_t {
  kIgnore,
  kSpawn,          // start the worker
  kWait,           // wait until an op may start
  kRunAic,         // record that aic begins, and run it
  kPrepareP2p,     // record that p2p begins, and prepare it
  kKeepBlob,       // keep what the peers need
  kRunP2p,         // run p2p
  kRecord,         // record the outcome of the op
  kRecordEarly,    // record the outcome of p2p, which did not run: it is not `ok`
  kRefuse,         // record outcomes: p2p did not start
  kRefuseAndQuit,  // record outcomes: not started; let the worker exit
  kRefuseAndKill,  // record outcomes: not started; kill the worker
  kQuit,           // let the worker exit
  kKill,           // kill the worker
  kFree,           // the device is free
  kRecordDeath,    // record outcomes: the worker died
  kMakeSafeDeath,  // make the device safe, then record that the worker died
  kMakeSafe,       // make the device safe, then record the outcomes that were decided before
  kRecordDecided,  // record the outcomes that were decided before
};
inline constexpr int kRankActions = 19;

using RankTransitions = TransitionTable<RankPhase, RankTrigger, RankAction>;
const RankTransitions& RankTable();

std::string_view Name(RankPhase phase);

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
};

}  // namespace assay::core::node
