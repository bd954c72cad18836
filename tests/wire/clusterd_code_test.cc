#include "wire/clusterd_code.h"

#include <catch2/catch.hpp>

namespace assay::wire {

using base::Code;
using core::Verdict;

// docs/wire.md 3
TEST_CASE("every verdict has ClusterD's number and a status") {
  struct {
    Verdict verdict;
    int recover;
    int job;
    Code status;
  } const expected[] = {
      {Verdict::kAccepted, 0, 200, Code::kOk},
      {Verdict::kUnknownJob, 402, 402, Code::kNotFound},
      {Verdict::kNotRegistered, 400, 400, Code::kNotFound},
      {Verdict::kNoExecutor, 404, 404, Code::kNotReady},
      {Verdict::kNotFound, 404, 404, Code::kNotFound},
      {Verdict::kWrongState, 404, 404, Code::kConflict},
      {Verdict::kBusy, 411, 411, Code::kConflict},
      {Verdict::kBadParameter, 413, 413, Code::kInvalid},
      {Verdict::kDenied, 400, 400, Code::kDenied},
      {Verdict::kLimitReached, 429, 429, Code::kExhausted},
  };
  CHECK(std::size(expected) == core::kVerdicts);
  for (const auto& row : expected) {
    INFO(Name(row.verdict));
    CHECK(RecoverCode(row.verdict) == row.recover);
    CHECK(JobCode(row.verdict) == row.job);
    CHECK(StatusOf(row.verdict, "why").code() == row.status);
  }
}

TEST_CASE("the admin service puts the number before the text") {
  CHECK(AdminStatus(Verdict::kUnknownJob, "job \"j\" does not exist").text() ==
        "402 job \"j\" does not exist");
  CHECK(AdminStatus(Verdict::kBusy, "wait").code() == Code::kConflict);
  CHECK(StatusOf(Verdict::kDenied, "no").text() == "no");
  CHECK(AdminStatus(Verdict::kAccepted, "fine").ok());
}

}  // namespace assay::wire
