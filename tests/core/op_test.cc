#include "core/op.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace assay::core;

TEST_CASE("ops have the wire's numbers and the CLI's names") {
  CHECK(OpFromWire(0) == Op::kAic);
  CHECK(OpFromWire(1) == Op::kP2p);
  CHECK_FALSE(OpFromWire(2).has_value());
  CHECK_FALSE(OpFromWire(-1).has_value());
  for (Op op : kAllOps) CHECK(OpFromName(Name(op)) == op);
  CHECK_FALSE(OpFromName("AIC").has_value());
}

TEST_CASE("an op set yields its ops in ascending order") {
  const auto ops = [](OpSet set) { return std::vector<Op>(set.begin(), set.end()); };
  CHECK(ops(OpSet()).empty());
  OpSet p2p;
  p2p.Add(Op::kP2p);
  CHECK(ops(p2p) == std::vector<Op>{Op::kP2p});
  CHECK(ops(OpSet::All()) == std::vector<Op>{Op::kAic, Op::kP2p});
  CHECK(OpSet::All().first() == Op::kAic);
  CHECK(OpSet::All().last() == Op::kP2p);
  CHECK(p2p.first() == Op::kP2p);
  CHECK(OpSet(255) == OpSet::All());
  CHECK(OpSet::All().size() == 2);
}

TEST_CASE("op sets have a union and a difference") {
  OpSet aic;
  aic.Add(Op::kAic);
  OpSet p2p;
  p2p.Add(Op::kP2p);
  CHECK((aic | p2p) == OpSet::All());
  CHECK(OpSet::All() - aic == p2p);
  CHECK((aic - aic).empty());
  CHECK(aic - p2p == aic);
}

TEST_CASE("a value per op starts empty, and iteration follows the order of the ops") {
  PerOp<int> counts;
  CHECK(counts[Op::kAic] == 0);
  counts[Op::kAic] = 3;
  counts[Op::kP2p] = 4;
  CHECK(std::vector<int>(counts.begin(), counts.end()) == std::vector<int>{3, 4});
  PerOp<int> same = counts;
  CHECK(same == counts);
  ++same[Op::kP2p];
  CHECK(same != counts);
}

TEST_CASE("outcome codes are 0 to 4") {
  for (int code = 0; code < kOutcomeCodes; ++code) CHECK(OutcomeCodeFromInt(code).has_value());
  CHECK_FALSE(OutcomeCodeFromInt(5).has_value());
  CHECK_FALSE(OutcomeCodeFromInt(-1).has_value());
  CHECK(Name(OutcomeCode::kVoltageNotRestored) == "voltage_not_restored");
}
