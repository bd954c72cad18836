#include "core/op.h"

#include <catch2/catch.hpp>

using namespace assay::core;

TEST_CASE("ops have the wire's numbers and the CLI's names") {
  CHECK(OpFromWire(0) == Op::kAic);
  CHECK(OpFromWire(1) == Op::kP2p);
  CHECK_FALSE(OpFromWire(2).has_value());
  CHECK_FALSE(OpFromWire(-1).has_value());
  for (Op op : kAllOps) CHECK(OpFromName(Name(op)) == op);
  CHECK_FALSE(OpFromName("AIC").has_value());
}

TEST_CASE("outcome codes are 0 to 4") {
  for (int code = 0; code < kOutcomeCodes; ++code) CHECK(OutcomeCodeFromInt(code).has_value());
  CHECK_FALSE(OutcomeCodeFromInt(5).has_value());
  CHECK_FALSE(OutcomeCodeFromInt(-1).has_value());
  CHECK(Name(OutcomeCode::kVoltageNotRestored) == "voltage_not_restored");
}
