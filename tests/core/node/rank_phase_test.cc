// The transition table of one rank.
#include "core/node/rank_phase.h"

#include <catch2/catch.hpp>
#include <set>

using namespace assay::core::node;

TEST_CASE("the rank table has each transition once") {
  std::set<std::pair<RankPhase, RankTrigger>> seen;
  for (const RankTransition& row : RankTransitions()) {
    INFO(Name(row.from) << " " << Name(row.trigger));
    CHECK(seen.insert({row.from, row.trigger}).second);
    CHECK(RankMove(row.from, row.trigger) == row.to);
    CHECK(row.from != row.to);
  }
  int moves = 0;
  for (int phase = 0; phase < kRankPhases; ++phase) {
    for (int trigger = 0; trigger < kRankTriggers; ++trigger) {
      moves += RankMove(static_cast<RankPhase>(phase), static_cast<RankTrigger>(trigger)) ? 1 : 0;
    }
  }
  CHECK(moves == static_cast<int>(RankTransitions().size()));
}

TEST_CASE("a rank becomes free only after its worker has exited") {
  for (const RankTransition& row : RankTransitions()) {
    INFO(Name(row.from) << " " << Name(row.trigger) << " " << Name(row.to));
    const bool ends = row.trigger == RankTrigger::kGone || row.trigger == RankTrigger::kGoneUnsafe;
    if (row.to == RankPhase::kFree) CHECK((ends || row.trigger == RankTrigger::kSafe));
    if (row.to == RankPhase::kSafing) CHECK(row.trigger == RankTrigger::kGoneUnsafe);
    if (ends) CHECK((row.to == RankPhase::kFree || row.to == RankPhase::kSafing));
    // A worker that exits during an op always has its device made safe.
    if (UnderWay(row.from)) CHECK(row.trigger != RankTrigger::kGone);
  }
}

TEST_CASE("free can be reached from every phase") {
  std::set<RankPhase> ends{RankPhase::kFree};
  for (int round = 0; round < kRankPhases; ++round) {
    for (const RankTransition& row : RankTransitions()) {
      if (ends.count(row.to) != 0) ends.insert(row.from);
    }
  }
  CHECK(ends.size() == kRankPhases);
}
