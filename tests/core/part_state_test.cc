#include "core/part_state.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/core/table_pairs.h"

namespace assay::core {

TEST_CASE("every pair of part state and trigger has the expected result") {
  CHECK(Pairs(PartTable()) ==
        "assign reassign notify ready start held_ready held_started cancel cancel_away "
        "cancel_not_held prepare_overdue start_overdue answered\n"
        "waiting: 1 1 3 2 3 = 3 0 0 . 0 0 0\n"
        "assigned: . 1 . 2 3 = 3 1 1 1 1 1 1\n"
        "ready: . 1 . = 3 3 3 2 2 2 = 2 2\n"
        "started: . 3 . 2 3 3 = 3 = 3 = = 3\n");
}

TEST_CASE("an agent gets Start only in a transition to started, and is told of every end") {
  for (const PartTransitions::Row& row : PartTable().rows()) {
    INFO(Name(row.from) << " " << PartTable().Name(row.trigger));
    if (row.action == PartAction::kSendStart) CHECK(row.to == PartState::kStarted);
    if (row.action == PartAction::kSendAssign) CHECK(row.to == PartState::kAssigned);
    // Only a part whose agent never got the ranks releases its devices by itself.
    if (row.trigger == PartTrigger::kAnswered) {
      CHECK((row.action == PartAction::kRelease) == (row.from == PartState::kWaiting));
    }
    // A started part is never answered as "not connected": its agent may still test.
    if (row.from == PartState::kStarted) {
      CHECK(row.action != PartAction::kAnswerNotConnected);
      CHECK(row.action != PartAction::kAnswerNotReady);
    }
  }
}

TEST_CASE("a part state's name converts back to the state") {
  for (int state = 0; state < kPartStates; ++state) {
    CHECK(PartStateFromName(Name(static_cast<PartState>(state))) == static_cast<PartState>(state));
  }
  CHECK_FALSE(PartStateFromName("open").has_value());
}

}  // namespace assay::core
