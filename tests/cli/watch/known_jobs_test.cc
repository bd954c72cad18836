#include "cli/watch/known_jobs.h"

#include <catch2/catch.hpp>

using namespace assay::cli::watch;

namespace {

job::JobSummarySignal SignalOf(const std::string& id, const std::string& state,
                               const std::string& operation = "add") {
  job::JobSummarySignal signal;
  signal.set_jobid(id);
  signal.set_jobstatus(state);
  signal.set_operator_(operation);
  return signal;
}

}  // namespace

TEST_CASE("a job that a new connection does not mention was deleted") {
  KnownJobs jobs;
  CHECK(jobs.EndSnapshot().empty());
  for (const char* id : {"a", "b", "c", "d"}) jobs.Apply(SignalOf(id, "running"));
  auto failed = SignalOf("b", "failed");
  failed.set_deletetime("1700000000");
  failed.set_hccljson("{}");
  jobs.Apply(std::move(failed));
  jobs.Apply(SignalOf("d", "running", "delete"));
  CHECK(jobs.size() == 3);

  jobs.BeginSnapshot();
  jobs.Apply(SignalOf("a", "complete"));
  jobs.Apply(SignalOf("c", "running", "delete"));
  const auto gone = jobs.EndSnapshot();
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].jobid() == "b");
  CHECK(gone[0].jobstatus() == "failed");
  CHECK(gone[0].hccljson() == "{}");
  CHECK(gone[0].operator_() == "delete");
  CHECK(gone[0].deletetime().empty());
  CHECK(jobs.size() == 1);
  CHECK(jobs.EndSnapshot().empty());
}

TEST_CASE("a connection lost before the end of its snapshot reports no deletions") {
  KnownJobs jobs;
  jobs.Apply(SignalOf("a", "running"));
  jobs.Apply(SignalOf("b", "running"));
  jobs.BeginSnapshot();
  jobs.Apply(SignalOf("a", "running"));
  jobs.BeginSnapshot();
  jobs.Apply(SignalOf("b", "running"));
  const auto gone = jobs.EndSnapshot();
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].jobid() == "a");
}
