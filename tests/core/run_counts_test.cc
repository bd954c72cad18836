#include "core/run_counts.h"

#include <catch2/catch.hpp>

namespace assay::core {
namespace {

RankTest Rank(OpSet ops, OpSet answered, OutcomeCode aic, OutcomeCode p2p) {
  RankTest rank;
  rank.ops = ops;
  rank.answered = answered;
  rank.outcomes[Op::kAic].code = aic;
  rank.outcomes[Op::kP2p].code = p2p;
  return rank;
}

TEST_CASE("only faulty and voltage_not_restored are faults; with ok they are the verdicts") {
  for (int number = 0; number < kOutcomeCodes; ++number) {
    const auto code = static_cast<OutcomeCode>(number);
    CAPTURE(number);
    CHECK(IsFault(code) == (number == 2 || number == 4));
    CHECK(IsVerdict(code) == (number == 0 || number == 2 || number == 4));
  }
}

TEST_CASE("RunCounts counts ranks and outcomes") {
  using Code = OutcomeCode;
  const OpSet none;
  const OpSet aic(1);
  const OpSet both(3);
  RunCounts counts;
  counts.Add(Rank(both, none, Code::kFaulty, Code::kFaulty));  // the codes do not count yet
  CHECK(counts.answered_ranks == 0);
  CHECK(counts.faulty_ranks == 0);
  counts.Add(Rank(both, aic, Code::kFaulty, Code::kOk));
  counts.Add(Rank(both, both, Code::kFaulty, Code::kVoltageNotRestored));
  counts.Add(Rank(both, both, Code::kTimeout, Code::kNotRun));
  counts.Add(Rank(aic, aic, Code::kOk, Code::kFaulty));
  CHECK(counts.answered_ranks == 3);
  CHECK(counts.faulty_ranks == 2);
  CHECK(counts.by_code == std::array<std::int64_t, kOutcomeCodes>{1, 1, 2, 1, 1});
}

}  // namespace
}  // namespace assay::core
