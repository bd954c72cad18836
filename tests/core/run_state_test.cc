#include "core/run_state.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>

using namespace assay::core;

TEST_CASE("every state but closed can be left, and every state can be reached") {
  std::set<RunState> left;
  std::set<RunState> reached = {RunState::kAccepted};
  std::set<std::pair<RunState, RunTrigger>> seen;
  for (const RunTransition& row : RunTransitions()) {
    left.insert(row.from);
    reached.insert(row.to);
    CHECK(seen.insert({row.from, row.trigger}).second);
    CHECK(RunMove(row.from, row.trigger) == row.to);
    CHECK(row.from != row.to);
  }
  CHECK(left.size() == kRunStates - 1);
  CHECK_FALSE(left.contains(RunState::kClosed));
  CHECK(reached.size() == kRunStates);
}

TEST_CASE("the table is total: a trigger without a row changes nothing") {
  std::size_t moves = 0;
  for (int state = 0; state < kRunStates; ++state) {
    for (int trigger = 0; trigger < kRunTriggers; ++trigger) {
      moves += RunMove(static_cast<RunState>(state), static_cast<RunTrigger>(trigger)).has_value();
    }
  }
  CHECK(moves == RunTransitions().size());
}

TEST_CASE("a state's name converts back to the state") {
  for (int state = 0; state < kRunStates; ++state) {
    CHECK(RunStateFromName(Name(static_cast<RunState>(state))) == static_cast<RunState>(state));
  }
  CHECK_FALSE(RunStateFromName("open").has_value());
}

TEST_CASE("docs/run.md contains the present transition table") {
  std::ifstream file(ASSAY_DOCS "/run.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  INFO("docs/run.md must end with:\n" << RunTableMarkdown());
  CHECK(page.ends_with("\n" + RunTableMarkdown()));
}
