#include "core/run_state.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>

using namespace assay;

TEST_CASE("every state but the last can be left, and every one can be reached") {
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

TEST_CASE("the table is total: what has no row changes nothing") {
  std::size_t moves = 0;
  for (int state = 0; state < kRunStates; ++state) {
    for (int trigger = 0; trigger < kRunTriggers; ++trigger) {
      moves += RunMove(static_cast<RunState>(state), static_cast<RunTrigger>(trigger)).has_value();
    }
  }
  CHECK(moves == RunTransitions().size());
}

TEST_CASE("names of states lead back") {
  for (int state = 0; state < kRunStates; ++state) {
    CHECK(RunStateFromName(Name(static_cast<RunState>(state))) == static_cast<RunState>(state));
  }
  CHECK_FALSE(RunStateFromName("open").has_value());
}

TEST_CASE("the page on runs has the table as it is") {
  std::ifstream file(ASSAY_DOCS "/run.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  INFO("docs/run.md has to end with:\n" << RunTableMarkdown());
  CHECK(page.ends_with("\n" + RunTableMarkdown()));
}
