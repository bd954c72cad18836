// The columns of the table `runs` that count outcomes: one for each code, with the code's name.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/op.h"

namespace assay::store {

// Joins text(name, number) of each code, in ascending order, with ", ".
template <class Text>
std::string OutcomeColumns(Text text) {
  std::string joined;
  for (int code = 0; code < core::kOutcomeCodes; ++code) {
    if (code > 0) joined += ", ";
    joined += text(std::string(Name(static_cast<core::OutcomeCode>(code))), std::to_string(code));
  }
  return joined;
}

}  // namespace assay::store
