// The transition table of one rank.
#include "core/node/rank_phase.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/core/table_pairs.h"

using namespace assay::core::node;
using assay::core::Pairs;

TEST_CASE("the rank table has each transition once") {
  std::set<std::pair<RankPhase, RankTrigger>> seen;
  for (const RankTransitions::Row& row : RankTable().rows()) {
    INFO(Name(row.from) << " " << RankTable().Name(row.trigger));
    CHECK(seen.insert({row.from, row.trigger}).second);
    CHECK(RankTable().Find(row.from, row.trigger) == RankTransitions::Move{row.to, row.action});
    CHECK((row.from == row.to) == (row.action == RankAction::kIgnore));
  }
}

TEST_CASE("every pair of rank phase and trigger has the expected result") {
  CHECK(Pairs(RankTable()) ==
        "spawn opened open_failed run_aic prepare_p2p prepared run_p2p answered stopping cancelled "
        "quit overdue kill discard gone gone_unsafe restarted safe\n"
        "free: 1 = = . . = . . = = . . . = = = 9 =\n"
        "opening: . 2 7 . . = . . 7 7 . 8 . 8 0 . . =\n"
        "idle: . = = 3 4 = . . 7 7 7 . . 8 0 9 . =\n"
        "aic: . = = . . = . 2 = = . 8 8 8 . 9 . =\n"
        "preparing: . = = . . 5 . 2 = = . 8 8 8 . 9 . =\n"
        "prepared: . = = . . = 6 2 = 7 . 2 8 8 . 9 . =\n"
        "p2p: . = = . . = . 2 = = . 8 8 8 . 9 . =\n"
        "quitting: . = = . . = . . = = . 8 . = 0 0 . =\n"
        "killing: . = = . . = . . = = . . . = 0 9 . =\n"
        "safing: . = = . . = . . = = . . . = = = . 0\n");
}

TEST_CASE("a rank becomes free only after its worker has exited") {
  for (const RankTransitions::Row& row : RankTable().rows()) {
    INFO(Name(row.from) << " " << RankTable().Name(row.trigger) << " " << Name(row.to));
    const bool ends = row.trigger == RankTrigger::kGone || row.trigger == RankTrigger::kGoneUnsafe;
    // At a restart of the agent its workers have exited before its first step.
    const bool exited =
        row.trigger == RankTrigger::kGoneUnsafe || row.trigger == RankTrigger::kRestarted;
    if (ends) CHECK((row.to == RankPhase::kFree || row.to == RankPhase::kSafing));
    // A worker that exits during an op always has its device made safe.
    if (UnderWay(row.from)) CHECK(row.trigger != RankTrigger::kGone);
    if (row.action == RankAction::kIgnore) continue;
    if (row.to == RankPhase::kFree) CHECK((ends || row.trigger == RankTrigger::kSafe));
    if (row.to == RankPhase::kSafing) CHECK(exited);
  }
}

TEST_CASE("free can be reached from every phase") {
  std::set<RankPhase> ends{RankPhase::kFree};
  for (int round = 0; round < kRankPhases; ++round) {
    for (const RankTransitions::Row& row : RankTable().rows()) {
      if (ends.count(row.to) != 0) ends.insert(row.from);
    }
  }
  CHECK(ends.size() == kRankPhases);
}
