// Defines which outcomes count as answered and as faulty, for every count of a run.
//
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "core/model.h"
#include "core/op.h"

namespace assay::core {

// Whether the outcome shows a hardware fault.
constexpr bool IsFault(OutcomeCode code) {
  return code == OutcomeCode::kFaulty || code == OutcomeCode::kVoltageNotRestored;
}

// Whether the outcome is evidence about the hardware, for or against it.
constexpr bool IsVerdict(OutcomeCode code) { return code == OutcomeCode::kOk || IsFault(code); }

struct RunCounts {
  std::int64_t answered_ranks = 0;                    // ranks with an outcome for each of their ops
  std::int64_t faulty_ranks = 0;                      // ranks with an outcome that IsFault
  std::array<std::int64_t, kOutcomeCodes> by_code{};  // outcomes of each code

  void Add(const RankTest& rank);
};

}  // namespace assay::core
