#include "store/queries.h"

#include <catch2/catch.hpp>

#include "store/store.h"
#include "tests/store/record_source.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::store;
using namespace assay::support;

namespace {

template <class T>
T Ok(Result<T> result) {
  INFO(result.status().text());
  REQUIRE(result.ok());
  return std::move(result).value();
}

struct Filled {
  explicit Filled(std::uint64_t seed) {
    RecordSource source(seed);
    for (int round = 0; round < 30; ++round) {
      const std::vector<Record> batch = source.Batch(model, 20);
      REQUIRE(store->Commit(batch).ok());
      for (const Record& record : batch) model.Apply(record);
    }
  }
  TempDir dir;
  std::unique_ptr<Store> store = Ok(Store::Open(dir / "assay.db"));
  RecordModel model;
  std::unique_ptr<Queries> queries = Ok(Queries::Open(dir / "assay.db"));
};

void CheckRun(const RunRow& row, const Run& run) {
  CAPTURE(run.id);
  std::array<std::int64_t, kOutcomeCodes> by_code{};
  std::int64_t answered = 0;
  for (const RankTest& test : run.ranks) {
    for (const Op op : test.answered) {
      ++answered;
      ++by_code[static_cast<std::size_t>(test.outcomes[op].code)];
    }
  }
  CHECK(row.id == run.id);
  CHECK(row.job == run.job);
  CHECK(row.state == run.state);
  CHECK(row.executor == run.executor);
  CHECK(row.ops == run.ops);
  CHECK(row.rank_count == run.rank_count);
  CHECK(row.expected == run.expected);
  CHECK(row.answered == answered);
  CHECK(row.by_code == by_code);
  CHECK(row.created == run.created);
  CHECK(row.started == run.started);
  CHECK(row.ended == run.ended);
  CHECK(row.deadline == run.deadline);
}

}  // namespace

TEST_CASE("jobs are listed in pages and shown with their ranks") {
  Filled filled(11);
  const Durable& all = filled.model.everything();
  REQUIRE(all.jobs.size() >= 3);
  std::string after;
  for (const auto& [id, job] : all.jobs) {
    const Page<JobRow> page = Ok(filled.queries->ListJobs(after, 1));
    REQUIRE(page.rows.size() == 1);
    const JobRow& row = page.rows[0];
    CHECK(row.spec == job.spec);
    CHECK(row.state == job.state);
    CHECK(row.rank_count == std::ssize(job.table->ranks));
    CHECK(row.node_count == std::ssize(job.table->nodes));
    CHECK(row.created == job.created);
    CHECK(row.updated == job.updated);
    CHECK(row.last_run == job.last_run);
    CHECK(page.more == (id != all.jobs.rbegin()->first));
    after = id;

    const JobRow one = Ok(filled.queries->GetJob(id));
    REQUIRE(one.ranks.size() == job.table->ranks.size());
    for (std::size_t i = 0; i < one.ranks.size(); ++i) {
      CHECK(one.ranks[i].rank == job.table->ranks[i].rank);
      CHECK(one.ranks[i].device == job.table->ranks[i].device);
      CHECK(one.ranks[i].node == job.table->nodes[job.table->ranks[i].node].name);
    }
  }
  CHECK(Ok(filled.queries->ListJobs(after, 10)).rows.empty());
}

TEST_CASE("runs are listed newest first, open and closed ones with the same counts") {
  Filled filled(12);
  const Durable& all = filled.model.everything();
  REQUIRE(all.runs.size() >= 10);
  RunId before = kNoRun;
  for (auto at = all.runs.rbegin(); at != all.runs.rend(); ++at) {
    const Page<RunRow> page = Ok(filled.queries->ListRuns("", before, 1));
    REQUIRE(page.rows.size() == 1);
    CheckRun(page.rows[0], at->second);
    CHECK(page.rows[0].message.empty());
    CHECK(page.more == (at->first != all.runs.begin()->first));
    before = at->first;
    CheckRun(Ok(filled.queries->GetRunOnly(at->first)), at->second);
    CHECK(Ok(filled.queries->GetRunOnly(at->first)).message == at->second.message);
    CHECK(Ok(filled.queries->RunMessage(at->first)) == at->second.message);
  }
  std::size_t of_job = 0;
  for (const auto& [id, run] : all.runs) of_job += run.job == "job-1" ? 1 : 0;
  const Page<RunRow> page = Ok(filled.queries->ListRuns("job-1", kNoRun, 0));
  CHECK(page.rows.size() == of_job);
  CHECK_FALSE(page.more);
}

TEST_CASE("a run's results are read in pages, including unanswered ops") {
  Filled filled(13);
  for (const auto& [id, run] : filled.model.everything().runs) {
    std::vector<ResultRow> rows;
    std::int32_t from = 0;
    while (from >= 0) {
      const RunResults results = Ok(filled.queries->GetRun(id, from, 2));
      CheckRun(results.run, run);
      rows.insert(rows.end(), results.results.begin(), results.results.end());
      from = results.next_rank;
    }
    auto row = rows.begin();
    for (const RankTest& test : run.ranks) {
      for (const Op op : test.ops) {
        REQUIRE(row != rows.end());
        CHECK(row->rank == test.rank);
        CHECK(row->op == op);
        CHECK(row->device == test.device);
        CHECK(row->node == run.parts[test.part].node);
        CHECK(row->outcome.has_value() == test.answered.Has(op));
        if (row->outcome) CHECK(*row->outcome == test.outcomes[op]);
        ++row;
      }
    }
    CHECK(row == rows.end());
  }
}

TEST_CASE("nodes are shown with the runs that hold their devices") {
  Filled filled(14);
  const Durable& all = filled.model.everything();
  REQUIRE(all.nodes.size() >= 3);
  const std::vector<NodeRow> rows = Ok(filled.queries->ListNodes());
  REQUIRE(rows.size() == all.nodes.size());
  auto row = rows.begin();
  for (const auto& [name, node] : all.nodes) {
    Node listed = row->node;
    for (const NodeDeviceRow& device : row->devices) {
      listed.devices.push_back(device.info);
      const auto lease = all.leases.find({name, device.info.index});
      CHECK(device.run == (lease == all.leases.end() ? kNoRun : lease->second));
    }
    CHECK(listed == node);
    ++row;
  }
}

TEST_CASE("the error for a missing job or run names it") {
  Filled filled(15);
  const Result<JobRow> job = filled.queries->GetJob("no-such-job");
  CHECK(job.status().code() == Code::kNotFound);
  CHECK_THAT(job.status().text(), Catch::Contains("no-such-job"));
  for (const Status& status : {filled.queries->GetRun(987'654, 0, 1).status(),
                               filled.queries->RunMessage(987'654).status(),
                               filled.queries->GetRunOnly(987'654).status()}) {
    CHECK(status.code() == Code::kNotFound);
    CHECK_THAT(status.text(), Catch::Contains("987654"));
  }
}

TEST_CASE("the read-only connection cannot write, and does not block checkpoints between calls") {
  Filled filled(16);
  Ok(filled.queries->ListNodes());
  Ok(filled.queries->GetRun(filled.model.everything().runs.begin()->first, 0, 1));
  Result<std::unique_ptr<Database>> other =
      Database::Open(filled.dir / "assay.db", Database::Access::kReadOnly);
  REQUIRE(other.ok());
  CHECK_FALSE((*other)->Exec("DELETE FROM runs").ok());
  // A statement that the reader did not reset would prevent frames from being copied.
  REQUIRE(filled.store->Close().ok());
  Result<std::unique_ptr<Database>> writer =
      Database::Open(filled.dir / "assay.db", Database::Access::kReadWrite);
  REQUIRE(writer.ok());
  REQUIRE((*writer)->Exec("UPDATE jobs SET name = 'x'").ok());
  const Result<Database::Checkpointed> done = (*writer)->Checkpoint();
  REQUIRE(done.ok());
  CHECK(done->frames > 0);
  CHECK(done->copied == done->frames);
}
