#include "core/transition_table.h"

#include <catch2/catch.hpp>

namespace assay::core {
namespace {

enum class S : std::uint8_t { kOff, kOn };
enum class T : std::uint8_t { kPress, kRelease, kBreak };
enum class A : std::uint8_t { kIgnore, kLight };
using Table = TransitionTable<S, T, A>;

constexpr std::string_view kStates[] = {"off", "on"};
constexpr std::string_view kTriggers[] = {"press", "release", "break"};
constexpr std::string_view kActions[] = {"nothing", "light it"};
constexpr Table::Row kRows[] = {
    {S::kOff, T::kPress, S::kOn, A::kLight},
    {S::kOn, T::kPress, S::kOn, A::kIgnore},
    {S::kOn, T::kRelease, S::kOff, A::kLight, true},
};
constexpr Table::Otherwise kOtherwise[] = {{T::kRelease, "a key may be released twice"}};
constexpr Table::Definition kGood = {kStates, kTriggers, kActions, kRows, kOtherwise};
constexpr Table kTable(kGood);

}  // namespace

TEST_CASE("a pair has a row, changes nothing, or must not occur") {
  STATIC_REQUIRE(kTable.Find(S::kOff, T::kPress) == Table::Move{S::kOn, A::kLight});
  STATIC_REQUIRE(kTable.Find(S::kOn, T::kPress) == Table::Move{S::kOn, A::kIgnore});
  STATIC_REQUIRE(kTable.Find(S::kOn, T::kRelease) == Table::Move{S::kOff, A::kLight});
  STATIC_REQUIRE(kTable.Find(S::kOff, T::kRelease) == Table::Move{S::kOff, A::kIgnore});
  STATIC_REQUIRE_FALSE(kTable.Find(S::kOff, T::kBreak).has_value());
  STATIC_REQUIRE_FALSE(kTable.Find(S::kOn, T::kBreak).has_value());
  CHECK(kTable.Take(S::kOff, T::kPress) == kTable.Find(S::kOff, T::kPress));
  CHECK(kTable.NoMove(S::kOn, T::kBreak) == "no transition for break in state on");
}

TEST_CASE("a trigger acts only by a row that does not ignore it") {
  STATIC_REQUIRE(kTable.Acts(S::kOff, T::kPress));
  STATIC_REQUIRE_FALSE(kTable.Acts(S::kOn, T::kPress));
  STATIC_REQUIRE_FALSE(kTable.Acts(S::kOff, T::kRelease));
  STATIC_REQUIRE_FALSE(kTable.Acts(S::kOff, T::kBreak));
}

TEST_CASE("states have names") {
  CHECK(kTable.Name(S::kOn) == "on");
  CHECK(kTable.StateFromName("off") == S::kOff);
  CHECK_FALSE(kTable.StateFromName("dim").has_value());
}

TEST_CASE("the documentation shows rows, ignored triggers and what is planned") {
  CHECK(kTable.Markdown() ==
        "| state | trigger | next | what happens |\n"
        "|---|---|---|---|\n"
        "| off | press | on | light it |\n"
        "| on | press | on | nothing |\n"
        "| on | release | off | light it (planned) |\n"
        "| any other | release | unchanged | nothing: a key may be released twice |\n");
}

// A table with a problem does not compile.
TEST_CASE("a defective definition is found at compile time") {
  STATIC_REQUIRE(Table::Problem(kGood).empty());

  static constexpr Table::Row kTwice[] = {{S::kOff, T::kPress, S::kOn, A::kLight},
                                          {S::kOff, T::kPress, S::kOff, A::kIgnore}};
  STATIC_REQUIRE(Table::Problem({kStates, kTriggers, kActions, kTwice, {}}) ==
                 "two rows have the same state and trigger");
  static constexpr Table::Row kMoves[] = {{S::kOff, T::kPress, S::kOn, A::kIgnore}};
  STATIC_REQUIRE(Table::Problem({kStates, kTriggers, kActions, kMoves, {}}) ==
                 "an ignored trigger moves");
  static constexpr std::string_view kTooFew[] = {"off"};
  STATIC_REQUIRE(Table::Problem({kTooFew, kTriggers, kActions, kRows, {}}) ==
                 "a row's state, trigger or action has no name");
  static constexpr std::string_view kUnnamed[] = {"press", "", "break"};
  STATIC_REQUIRE(Table::Problem({kStates, kUnnamed, kActions, kRows, {}}) == "a name is missing");
  static constexpr std::string_view kOnlyPress[] = {"press"};
  static constexpr Table::Row kPress[] = {{S::kOff, T::kPress, S::kOn, A::kLight}};
  STATIC_REQUIRE(Table::Problem({kStates, kOnlyPress, kActions, kPress, kOtherwise}) ==
                 "an ignored trigger has no name");
}

}  // namespace assay::core
