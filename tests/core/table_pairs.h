// All (state, trigger) pairs of a transition table as text, for tests: a line for each state, a
// column for each trigger. A cell is the number of the next state; "=": the trigger changes
// nothing; ".": the pair must not occur.
//
//   "press release break\n"
//   "off: 1 = .\n"
#pragma once

#include <string>

#include "core/transition_table.h"

namespace assay::core {

template <class State, class Trigger, class Action>
std::string Pairs(const TransitionTable<State, Trigger, Action>& table) {
  std::string text;
  for (std::size_t i = 0; i < table.triggers(); ++i) {
    text.append(i == 0 ? "" : " ").append(table.Name(static_cast<Trigger>(i)));
  }
  text += '\n';
  for (std::size_t from = 0; from < table.states(); ++from) {
    text.append(table.Name(static_cast<State>(from))).append(":");
    for (std::size_t i = 0; i < table.triggers(); ++i) {
      const auto move = table.Find(static_cast<State>(from), static_cast<Trigger>(i));
      text += ' ';
      if (!move) {
        text += '.';
      } else if (move->action == Action::kIgnore) {
        text += '=';
      } else {
        text += std::to_string(static_cast<int>(move->to));
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace assay::core
