// A state machine as one table that is checked when it is compiled:
//
//   enum class S : std::uint8_t { kOff, kOn };
//   enum class T : std::uint8_t { kPress, kRelease };
//   enum class A : std::uint8_t { kIgnore, kLight };
//   using Table = TransitionTable<S, T, A>;
//   constexpr std::string_view kStates[] = {"off", "on"};  // likewise triggers and actions
//   constexpr Table::Row kRows[] = {{S::kOff, T::kPress, S::kOn, A::kLight}};
//   constexpr Table::Otherwise kOtherwise[] = {{T::kRelease, "a key may be released twice"}};
//   constexpr Table kTable({kStates, kTriggers, kActions, kRows, kOtherwise});
//
//   if (const auto move = kTable.Take(state, trigger)) {
//     state = move->to;
//     switch (move->action) ...
//   }
//
// Every (state, trigger) pair is one of three kinds:
// 1. A row: the move is made and its action is carried out. A row with the action kIgnore expects
//    the trigger in that state and changes nothing.
// 2. No row, but an Otherwise entry for the trigger: it changes nothing, for the reason of the
//    entry. For messages of other processes, which may be late or repeated.
// 3. Neither: only a defect of the code causes it. Take() asserts in builds without optimisation;
//    in others it returns no value, and the caller changes nothing and reports NoMove().
//
// REQUIRES: enumerators count from 0 without gaps; Action::kIgnore exists and is 0.
// Thread safety: immutable.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::core {

template <class State, class Trigger, class Action>
class TransitionTable {
 public:
  struct Row {
    State from;
    Trigger trigger;
    State to;
    Action action;
    bool planned = false;  // the feature that causes the trigger is not implemented yet
  };
  // Where the trigger has no row, it changes nothing.
  struct Otherwise {
    Trigger trigger;
    std::string_view why;
  };
  // The names of states and triggers, and a description of each action, by their enumerators.
  struct Definition {
    std::span<const std::string_view> states;
    std::span<const std::string_view> triggers;
    std::span<const std::string_view> actions;
    std::span<const Row> rows;
    std::span<const Otherwise> otherwise;
  };
  struct Move {
    State to;
    Action action;
    bool operator==(const Move&) const = default;
  };

  // Returns what is wrong with the definition; "" if nothing is.
  static constexpr std::string_view Problem(const Definition& d) {
    if (d.states.size() * d.triggers.size() > kPairsMax) return "too many pairs";
    if (d.rows.size() >= kOtherwisePlace) return "too many rows";
    for (const auto& names : {d.states, d.triggers, d.actions}) {
      if (HasEmpty(names)) return "a name is missing";
    }
    std::array<bool, kPairsMax> seen{};
    for (const Row& row : d.rows) {
      if (At(row.from) >= d.states.size() || At(row.to) >= d.states.size() ||
          At(row.trigger) >= d.triggers.size() || At(row.action) >= d.actions.size()) {
        return "a row's state, trigger or action has no name";
      }
      bool& pair = seen[At(row.from) * d.triggers.size() + At(row.trigger)];
      if (pair) return "two rows have the same state and trigger";
      pair = true;
      if (row.action == Action::kIgnore && row.from != row.to) return "an ignored trigger moves";
    }
    for (const Otherwise& one : d.otherwise) {
      if (At(one.trigger) >= d.triggers.size()) return "an ignored trigger has no name";
    }
    return "";
  }

  // A definition with a problem does not compile: the object is constexpr.
  constexpr explicit TransitionTable(const Definition& definition) : d_(definition) {
    if (!Problem(d_).empty()) throw std::logic_error("see TransitionTable::Problem()");
    for (const Otherwise& one : d_.otherwise) {
      for (std::size_t from = 0; from < d_.states.size(); ++from) {
        index_[from * d_.triggers.size() + At(one.trigger)] = kOtherwisePlace;
      }
    }
    for (std::size_t i = 0; i < d_.rows.size(); ++i) {
      index_[Pair(d_.rows[i].from, d_.rows[i].trigger)] = static_cast<std::uint8_t>(i + 1);
    }
  }

  // Returns the move, or no value if the pair must not occur.
  constexpr std::optional<Move> Find(State state, Trigger trigger) const {
    const std::uint8_t place = index_[Pair(state, trigger)];
    if (place == 0) return std::nullopt;
    if (place == kOtherwisePlace) return Move{state, Action::kIgnore};
    return Move{d_.rows[place - 1U].to, d_.rows[place - 1U].action};
  }
  // As Find(), for a caller that makes the move.
  std::optional<Move> Take(State state, Trigger trigger) const {
    const std::optional<Move> move = Find(state, trigger);
#ifndef __OPTIMIZE__
    assert(move && "a transition without a row");
#endif
    return move;
  }
  // Whether the trigger has an effect in the state.
  constexpr bool Acts(State state, Trigger trigger) const {
    const std::optional<Move> move = Find(state, trigger);
    return move && move->action != Action::kIgnore;
  }
  std::string NoMove(State state, Trigger trigger) const {
    return "no transition for " + std::string(Name(trigger)) + " in state " +
           std::string(Name(state));
  }

  constexpr std::span<const Row> rows() const { return d_.rows; }
  constexpr std::span<const Otherwise> otherwise() const { return d_.otherwise; }
  constexpr std::size_t states() const { return d_.states.size(); }
  constexpr std::size_t triggers() const { return d_.triggers.size(); }
  constexpr std::string_view Name(State state) const { return d_.states[At(state)]; }
  constexpr std::string_view Name(Trigger trigger) const { return d_.triggers[At(trigger)]; }
  constexpr std::string_view Name(Action action) const { return d_.actions[At(action)]; }
  constexpr std::optional<State> StateFromName(std::string_view name) const {
    for (std::size_t i = 0; i < d_.states.size(); ++i) {
      if (d_.states[i] == name) return static_cast<State>(i);
    }
    return std::nullopt;
  }

  // The table for the documentation.
  std::string Markdown() const {
    std::string text = "| state | trigger | next | what happens |\n|---|---|---|---|\n";
    const auto add = [&text](std::string_view cell) { text.append("| ").append(cell).append(" "); };
    for (const Row& row : d_.rows) {
      add(Name(row.from));
      add(Name(row.trigger));
      add(Name(row.to));
      add(Name(row.action));
      text.append(row.planned ? "(planned) |\n" : "|\n");
    }
    for (const Otherwise& one : d_.otherwise) {
      add("any other");
      add(Name(one.trigger));
      add("unchanged");
      add(std::string("nothing: ").append(one.why));
      text += "|\n";
    }
    return text;
  }

 private:
  static constexpr std::size_t kPairsMax = 256;
  static constexpr std::uint8_t kOtherwisePlace = 255;

  template <class Enum>
  static constexpr std::size_t At(Enum value) {
    return static_cast<std::size_t>(value);
  }
  static constexpr bool HasEmpty(std::span<const std::string_view> names) {
    for (const std::string_view name : names) {
      if (name.empty()) return true;
    }
    return names.empty();
  }
  constexpr std::size_t Pair(State state, Trigger trigger) const {
    return At(state) * d_.triggers.size() + At(trigger);
  }

  Definition d_;
  // [pair] -> index into d_.rows, plus 1; or kOtherwisePlace; 0: must not occur.
  std::array<std::uint8_t, kPairsMax> index_{};
};

}  // namespace assay::core
