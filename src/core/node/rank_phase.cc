#include "core/node/rank_phase.h"

namespace assay::core::node {
namespace {

using P = RankPhase;
using T = RankTrigger;
using A = RankAction;

constexpr std::string_view kPhases[kRankPhases] = {"free",      "opening",  "idle", "aic",
                                                   "preparing", "prepared", "p2p",  "quitting",
                                                   "killing",   "safing"};

constexpr std::string_view kTriggers[kRankTriggers] = {
    "spawn",   "opened",   "open_failed", "run_aic",     "prepare_p2p", "prepared",
    "run_p2p", "answered", "stopping",    "cancelled",   "quit",        "overdue",
    "kill",    "discard",  "gone",        "gone_unsafe", "restarted",   "safe"};

constexpr std::string_view kActions[kRankActions] = {
    "nothing",
    "start the worker, which opens the device",
    "wait until an op may start",
    "record that aic begins, and run it",
    "record that p2p begins, and prepare it",
    "wait for the other ranks",
    "run p2p",
    "record the outcome of the op",
    "record the outcome of p2p, which is not `ok`: p2p did not run",
    "record `1` for the open ops",
    "record `1` for the open ops; let the worker exit",
    "record `1` for the open ops; kill the worker",
    "let the worker exit",
    "kill the worker",
    "the device is free",
    "record `1 worker died` for the open ops",
    "make the device safe; then record that the worker died",
    "make the device safe; then record the outcomes",
    "record the outcomes of the open ops",
};

constexpr RankTransitions::Row kRows[] = {
    {P::kFree, T::kSpawn, P::kOpening, A::kSpawn},
    {P::kFree, T::kRestarted, P::kSafing, A::kMakeSafe},
    {P::kFree, T::kGone, P::kFree, A::kIgnore},  // repeated
    {P::kFree, T::kGoneUnsafe, P::kFree, A::kIgnore},

    {P::kOpening, T::kOpened, P::kIdle, A::kWait},
    {P::kOpening, T::kOpenFailed, P::kQuitting, A::kRefuseAndQuit},
    {P::kOpening, T::kStopping, P::kQuitting, A::kRefuseAndQuit},
    {P::kOpening, T::kCancelled, P::kQuitting, A::kRefuseAndQuit},
    {P::kOpening, T::kOverdue, P::kKilling, A::kRefuseAndKill},
    {P::kOpening, T::kDiscard, P::kKilling, A::kKill},
    {P::kOpening, T::kGone, P::kFree, A::kRecordDeath},

    {P::kIdle, T::kRunAic, P::kAic, A::kRunAic},
    {P::kIdle, T::kPrepareP2p, P::kPreparing, A::kPrepareP2p},
    {P::kIdle, T::kStopping, P::kQuitting, A::kRefuseAndQuit},
    {P::kIdle, T::kCancelled, P::kQuitting, A::kRefuseAndQuit},
    {P::kIdle, T::kQuit, P::kQuitting, A::kQuit},
    {P::kIdle, T::kDiscard, P::kKilling, A::kKill},
    {P::kIdle, T::kGone, P::kFree, A::kRecordDeath},
    {P::kIdle, T::kGoneUnsafe, P::kSafing, A::kMakeSafeDeath},

    {P::kAic, T::kAnswered, P::kIdle, A::kRecord},
    {P::kAic, T::kOverdue, P::kKilling, A::kKill},
    {P::kAic, T::kKill, P::kKilling, A::kKill},
    {P::kAic, T::kDiscard, P::kKilling, A::kKill},
    {P::kAic, T::kGoneUnsafe, P::kSafing, A::kMakeSafeDeath},

    {P::kPreparing, T::kPrepared, P::kPrepared, A::kKeepBlob},
    {P::kPreparing, T::kAnswered, P::kIdle, A::kRecordEarly},
    {P::kPreparing, T::kOverdue, P::kKilling, A::kKill},
    {P::kPreparing, T::kKill, P::kKilling, A::kKill},
    {P::kPreparing, T::kDiscard, P::kKilling, A::kKill},
    {P::kPreparing, T::kGoneUnsafe, P::kSafing, A::kMakeSafeDeath},

    {P::kPrepared, T::kRunP2p, P::kP2p, A::kRunP2p},
    {P::kPrepared, T::kAnswered, P::kIdle, A::kRecordEarly},
    {P::kPrepared, T::kCancelled, P::kQuitting, A::kRefuseAndQuit},
    {P::kPrepared, T::kOverdue, P::kIdle, A::kRefuse},  // another rank was not prepared
    {P::kPrepared, T::kKill, P::kKilling, A::kKill},
    {P::kPrepared, T::kDiscard, P::kKilling, A::kKill},
    {P::kPrepared, T::kGoneUnsafe, P::kSafing, A::kMakeSafeDeath},

    {P::kP2p, T::kAnswered, P::kIdle, A::kRecord},
    {P::kP2p, T::kOverdue, P::kKilling, A::kKill},
    {P::kP2p, T::kKill, P::kKilling, A::kKill},
    {P::kP2p, T::kDiscard, P::kKilling, A::kKill},
    {P::kP2p, T::kGoneUnsafe, P::kSafing, A::kMakeSafeDeath},

    // A quitting worker has its outcomes and a time limit, and may still close its device properly.
    {P::kQuitting, T::kOverdue, P::kKilling, A::kKill},
    {P::kQuitting, T::kDiscard, P::kQuitting, A::kIgnore},
    {P::kQuitting, T::kGone, P::kFree, A::kFree},
    {P::kQuitting, T::kGoneUnsafe, P::kFree, A::kFree},

    {P::kKilling, T::kGone, P::kFree, A::kRecordDecided},
    {P::kKilling, T::kGoneUnsafe, P::kSafing, A::kMakeSafe},

    {P::kSafing, T::kSafe, P::kFree, A::kRecordDecided},
    {P::kSafing, T::kGone, P::kSafing, A::kIgnore},  // repeated
    {P::kSafing, T::kGoneUnsafe, P::kSafing, A::kIgnore},
};

constexpr std::string_view kLateMessage = "a late or repeated message of a worker";
constexpr RankTransitions::Otherwise kOtherwise[] = {
    {T::kOpened, kLateMessage},
    {T::kOpenFailed, kLateMessage},
    {T::kPrepared, kLateMessage},
    {T::kSafe, kLateMessage},
    {T::kStopping, "no worker, or its op may continue until a time limit"},
    {T::kCancelled, "no worker, or its op may continue until a time limit"},
    {T::kDiscard, "no worker, or it was killed already"},
};

constexpr RankTransitions kTable({kPhases, kTriggers, kActions, kRows, kOtherwise});

}  // namespace

const RankTransitions& RankTable() { return kTable; }
std::string_view Name(RankPhase phase) { return kTable.Name(phase); }

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

}  // namespace assay::core::node
