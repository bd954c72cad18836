#include "cli/results.h"

#include <catch2/catch.hpp>

using namespace assay;
using namespace assay::cli;

namespace {

admin::Run RunWith(std::vector<int> by_code) {
  admin::Run run;
  for (const int count : by_code) run.add_by_code(count);
  return run;
}

}  // namespace

TEST_CASE("the worst outcome decides the exit status: 2, 4, 3, 5") {
  CHECK(StressExit(RunWith({8, 0, 0, 0, 0})) == 0);
  CHECK(StressExit(RunWith({7, 1, 0, 0, 0})) == 5);
  CHECK(StressExit(RunWith({6, 1, 0, 1, 0})) == 3);
  CHECK(StressExit(RunWith({5, 1, 0, 1, 1})) == 4);
  CHECK(StressExit(RunWith({4, 1, 1, 1, 1})) == 2);
}

TEST_CASE("outcomes that are not ok are counted by name, the worst first") {
  CHECK(NotOkText(RunWith({8, 0, 0, 0, 0})).empty());
  CHECK(NotOkText(RunWith({0, 4, 1, 3, 2})) ==
        "1 faulty, 2 voltage_not_restored, 3 timeout, 4 not_run");
}

TEST_CASE("a missing outcome is null, not a code") {
  admin::Result result;
  result.set_code(-1);
  const Json json = ResultJson(result);
  CHECK(json["code"].is_null());
  CHECK(json["outcome"].is_null());
}
