#include "store/store.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/store/record_source.h"
#include "tests/support/durable_text.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::rank_table;
using namespace assay::store;
using namespace assay::support;

namespace {

std::unique_ptr<Store> Open(const std::string& file) {
  Result<std::unique_ptr<Store>> store = Store::Open(file);
  INFO(store.status().text());
  REQUIRE(store.ok());
  return std::move(store).value();
}

void Commit(Store& store, const std::vector<Record>& records) {
  const Status status = store.Commit(records);
  INFO(status.text());
  REQUIRE(status.ok());
}

std::string Stored(Store& store) {
  Result<Durable> durable = store.Load();
  INFO(durable.status().text());
  REQUIRE(durable.ok());
  return DurableText(*durable);
}

}  // namespace

TEST_CASE("a new store is empty") {
  TempDir dir;
  const auto store = Open(dir / "assay.db");
  CHECK(FirstDifference(Stored(*store), DurableText(Durable())) == "");
}

TEST_CASE("load(save(x)) == x for any records, however often the store is opened") {
  const std::uint64_t fresh = std::random_device()();
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, fresh}) {
    CAPTURE(seed);
    TempDir dir;
    RecordSource source(seed);
    RecordModel model;
    auto store = Open(dir / "assay.db");
    for (int round = 0; round < 60; ++round) {
      const std::vector<Record> batch = source.Batch(model, 1 + round % 25);
      Commit(*store, batch);
      for (const Record& record : batch) model.Apply(record);
      if (round % 3 == 0) store->Idle();
      if (round % 10 == 9) {
        store.reset();
        store = Open(dir / "assay.db");
      }
      REQUIRE(FirstDifference(Stored(*store), DurableText(model.Stored())) == "");
    }
  }
}

TEST_CASE("an outcome never changes") {
  TempDir dir;
  const auto store = Open(dir / "assay.db");
  auto run = std::make_shared<Run>();
  run->id = 4;
  run->parts.push_back({"n", "n", "", PartState::kWaiting});
  run->ranks.push_back({});
  run->ranks[0].ops = OpSet(3);
  const Outcome first{OutcomeCode::kFaulty, "first", 5, 6};
  Commit(*store, {PutRun{run}, PutOutcome{4, 0, Op::kAic, first}});
  Commit(*store, {PutOutcome{4, 0, Op::kAic, {OutcomeCode::kOk, "second", 7, 8}}, PutRun{run}});
  const Result<Durable> durable = store->Load();
  REQUIRE(durable.ok());
  const Run& stored = durable->runs.at(4);
  CHECK(stored.ranks.at(0).outcomes[Op::kAic] == first);
  CHECK(stored.open == 1);
}

TEST_CASE("a run number is never used twice") {
  TempDir dir;
  auto run = std::make_shared<Run>();
  run->id = 41;
  run->state = RunState::kClosed;
  {
    const auto store = Open(dir / "assay.db");
    Commit(*store, {PutRun{run}});
  }
  {
    Result<std::unique_ptr<Database>> database =
        Database::Open(dir / "assay.db", Database::Access::kReadWrite);
    REQUIRE(database.ok());
    REQUIRE((*database)->Exec("DELETE FROM runs").ok());
  }
  const auto store = Open(dir / "assay.db");
  const Result<Durable> durable = store->Load();
  REQUIRE(durable.ok());
  CHECK(durable->next_run == 42);
  CHECK(durable->runs.empty());
}

TEST_CASE("an invalid next run number is an error that names the file") {
  TempDir dir;
  auto run = std::make_shared<Run>();
  run->id = 41;
  auto store = Open(dir / "assay.db");
  CHECK(store->Load()->next_run == 1);
  Commit(*store, {PutRun{run}});
  CHECK(store->Load()->next_run == 42);
  RunHeader header = *run;
  header.id = 7;  // an earlier run: the number does not go back
  Commit(*store, {PutRunHeader{header}});
  CHECK(store->Load()->next_run == 42);
  store.reset();
  {
    Result<std::unique_ptr<Database>> database =
        Database::Open(dir / "assay.db", Database::Access::kReadWrite);
    REQUIRE(database.ok());
    const char* damage =
        GENERATE("DELETE FROM cluster", "INSERT INTO cluster VALUES (50)",
                 "UPDATE cluster SET next_run = 41", "UPDATE cluster SET next_run = -1",
                 "UPDATE cluster SET next_run = 9e18 * 10", "UPDATE cluster SET next_run = 'many'");
    CAPTURE(damage);
    REQUIRE((*database)->Exec(damage).ok());
  }
  store = Open(dir / "assay.db");
  const Result<Durable> durable = store->Load();
  REQUIRE_FALSE(durable.ok());
  CHECK(durable.status().code() == Code::kInternal);
  CHECK_THAT(durable.status().text(), Catch::Contains("assay.db"));
}

TEST_CASE("an invalid row is an error that names it") {
  TempDir dir;
  auto store = Open(dir / "assay.db");
  Job job;
  job.spec.id = "job-7";
  job.table = std::make_shared<const RankTable>();
  Commit(*store, {PutJob{job}});
  store.reset();
  {
    Result<std::unique_ptr<Database>> database =
        Database::Open(dir / "assay.db", Database::Access::kReadWrite);
    REQUIRE(database.ok());
    const char* damage = GENERATE("UPDATE jobs SET state = 'running?'",
                                  "UPDATE rank_tables SET text = '{\"status\":'",
                                  "INSERT INTO deleted_jobs VALUES"
                                  " ('job-7', '', '', '', 'gone', '', '', 1, 2, '{}')");
    CAPTURE(damage);
    REQUIRE((*database)->Exec(damage).ok());
  }
  store = Open(dir / "assay.db");
  const Result<Durable> durable = store->Load();
  REQUIRE_FALSE(durable.ok());
  CHECK(durable.status().code() == Code::kInternal);
  CHECK_THAT(durable.status().text(), Catch::Contains("job-7") && Catch::Contains("assay.db"));
}
