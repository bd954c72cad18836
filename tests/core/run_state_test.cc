#include "core/run_state.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/core/table_pairs.h"

namespace assay::core {

TEST_CASE("every state but closed can be left, and every state can be reached") {
  std::set<RunState> left;
  std::set<RunState> reached = {RunState::kAccepted};
  std::set<std::pair<RunState, RunTrigger>> seen;
  for (const RunTransitions::Row& row : RunTable().rows()) {
    CHECK(seen.insert({row.from, row.trigger}).second);
    CHECK(RunTable().Find(row.from, row.trigger) == RunTransitions::Move{row.to, row.action});
    CHECK((row.from == row.to) == (row.action == RunAction::kIgnore));
    if (row.from == row.to) continue;
    left.insert(row.from);
    reached.insert(row.to);
  }
  CHECK(left.size() == kRunStates - 1);
  CHECK_FALSE(left.contains(RunState::kClosed));
  CHECK(reached.size() == kRunStates);
}

TEST_CASE("every pair of run state and trigger has the expected result") {
  CHECK(Pairs(RunTable()) ==
        "assign all_ready all_ready_pause notify notify_pause paused pause_failed cancel "
        "all_answered all_answered_resume all_answered_stop resumed stopped\n"
        "accepted: 1 . . 3 2 . . 4 7 . . . .\n"
        "preparing: . 3 2 . . . . 4 7 . . . .\n"
        "pausing: . . . . . 3 7 4 . . . . .\n"
        "testing: . . . = . . . 4 7 5 6 . .\n"
        "cancelling: . . . = . . . = 7 5 6 . .\n"
        "resuming: . . . . . . . . . . . 7 .\n"
        "stopping: . . . . . . . . . . . . 7\n"
        "closed: . . . . . . . . . . . . .\n");
}

// Without the planned rows a run takes only these states, and it always ends.
TEST_CASE("the rows that are not planned do not need the trainer") {
  std::set<RunState> reached = {RunState::kAccepted};
  for (int round = 0; round < kRunStates; ++round) {
    for (const RunTransitions::Row& row : RunTable().rows()) {
      if (!row.planned && reached.contains(row.from)) reached.insert(row.to);
    }
  }
  CHECK(reached == std::set<RunState>{RunState::kAccepted, RunState::kPreparing, RunState::kTesting,
                                      RunState::kCancelling, RunState::kClosed});
}

TEST_CASE("a state's name converts back to the state") {
  for (int state = 0; state < kRunStates; ++state) {
    CHECK(RunStateFromName(Name(static_cast<RunState>(state))) == static_cast<RunState>(state));
  }
  CHECK_FALSE(RunStateFromName("open").has_value());
}

}  // namespace assay::core
