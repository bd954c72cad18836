// Compares the store with bare SQLite: outcomes in batches of 20,000 through the store, and the
// same batches through prepared statements, one batch of each in turn. Then measures a job of
// 65,536 ranks in the store.
//
// usage: store_bench [FOLDER]    default: $TMPDIR or /tmp. Use a folder on a real disk: a RAM disk
//                                does not show the cost of syncing.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>

#include "store/store.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::rank_table;
using namespace assay::store;
using namespace assay::support;

namespace {

constexpr std::int32_t kBatch = 20'000;
constexpr int kBatches = 20;
constexpr std::int32_t kRanks = 65'536;
const std::string kDetail = "matrix products exact, 22.5 GFLOP/s, 1200 rounds, 0 mismatches";

// Wall time and processor time of this process, in seconds. On a busy machine processor time is the
// more reliable figure.
struct Spent {
  double wall = 0;
  double cpu = 0;
  Spent& operator+=(const Spent& other) {
    wall += other.wall;
    cpu += other.cpu;
    return *this;
  }
};

Spent Time(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "store_bench: %s\n", why.c_str());
  std::exit(1);
}

void Commit(Store& store, const std::vector<Record>& records) {
  const Status status = store.Commit(records);
  if (!status.ok()) Die(status.text());
}

std::shared_ptr<Run> BigRun(RunId id, std::int32_t ranks) {
  auto run = std::make_shared<Run>();
  run->id = id;
  run->job = "job-" + std::to_string(id);
  run->state = RunState::kTesting;
  run->rank_count = ranks;
  run->expected = std::int64_t{ranks} * 2;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    if (rank % 8 == 0) {
      const std::string node = "node-" + std::to_string(rank / 8);
      run->parts.push_back({node, node, "", PartState::kStarted});
    }
    RankTest test;
    test.rank = rank;
    test.device = rank % 8;
    test.part = static_cast<std::uint32_t>(rank / 8);
    test.ops = OpSet(3);
    run->ranks.push_back(test);
  }
  return run;
}

// The ceiling: one table with the same columns and key, nothing else.
class BareSqlite {
 public:
  explicit BareSqlite(const std::string& file) {
    Check(sqlite3_open_v2(file.c_str(), &database_,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                          nullptr));
    Exec(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32768;"
        "PRAGMA wal_autocheckpoint=0;"
        "CREATE TABLE outcomes (run INTEGER, rank INTEGER, op INTEGER, code INTEGER,"
        " started INTEGER, finished INTEGER, detail TEXT, PRIMARY KEY (run, rank, op))"
        " WITHOUT ROWID");
    Check(sqlite3_prepare_v3(database_, "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", -1,
                             SQLITE_PREPARE_PERSISTENT, &insert_, nullptr));
  }
  ~BareSqlite() {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }

  void Commit(const std::vector<Record>& records) {
    Exec("BEGIN IMMEDIATE");
    for (const Record& record : records) {
      const auto& row = std::get<PutOutcome>(record);
      sqlite3_bind_int64(insert_, 1, row.run);
      sqlite3_bind_int64(insert_, 2, row.rank);
      sqlite3_bind_int64(insert_, 3, static_cast<int>(row.op));
      sqlite3_bind_int64(insert_, 4, static_cast<int>(row.outcome.code));
      sqlite3_bind_int64(insert_, 5, row.outcome.started);
      sqlite3_bind_int64(insert_, 6, row.outcome.finished);
      sqlite3_bind_text(insert_, 7, row.outcome.detail.data(),
                        static_cast<int>(row.outcome.detail.size()), SQLITE_STATIC);
      if (sqlite3_step(insert_) != SQLITE_DONE) Die(sqlite3_errmsg(database_));
      sqlite3_reset(insert_);
    }
    Exec("COMMIT");
  }
  void Checkpoint() {
    sqlite3_wal_checkpoint_v2(database_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }

 private:
  void Check(int code) {
    if (code != SQLITE_OK) Die(sqlite3_errmsg(database_));
  }
  void Exec(const char* sql) { Check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr)); }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

void OutcomeBatches(const TempDir& dir, Store& store) {
  BareSqlite bare(dir / "bare.db");
  Spent stored;
  Spent raw;
  for (int batch = 0; batch < kBatches; ++batch) {
    const RunId run = batch + 1;
    Commit(store, {PutRun{BigRun(run, kBatch / 2)}});
    std::vector<Record> records;
    for (std::int32_t i = 0; i < kBatch; ++i) {
      records.push_back(PutOutcome{run,
                                   i / 2,
                                   static_cast<Op>(i % 2),
                                   {i % 1000 == 0 ? OutcomeCode::kFaulty : OutcomeCode::kOk,
                                    kDetail, 1'700'000'000'000 + i, 1'700'000'200'000 + i}});
    }
    raw += Time([&] { bare.Commit(records); });
    stored += Time([&] { Commit(store, records); });
    RunHeader closed;
    closed.id = run;
    closed.state = RunState::kClosed;
    Commit(store, {PutRunHeader{closed}});
    store.Idle();
    bare.Checkpoint();
  }
  const double rows = double{kBatch} * kBatches;
  std::printf(
      "outcomes in batches of %d: bare SQLite %.2f us/row (cpu %.2f),"
      " store %.2f us/row (cpu %.2f), %.0f rows/s, ratio %.2f (cpu %.2f)\n",
      kBatch, raw.wall / rows * 1e6, raw.cpu / rows * 1e6, stored.wall / rows * 1e6,
      stored.cpu / rows * 1e6, rows / stored.wall, stored.wall / raw.wall, stored.cpu / raw.cpu);
}

void BigJob(const TempDir& dir, std::unique_ptr<Store> store) {
  const auto run = BigRun(1'000, kRanks);
  auto table = std::make_shared<RankTable>();
  for (const Part& part : run->parts) table->nodes.push_back({part.node, {"10.0.0.1"}});
  for (const RankTest& test : run->ranks) {
    table->ranks.push_back({test.rank, test.device, test.part});
  }
  Job job;
  job.spec.id = run->job;
  job.table = table;
  job.table_text = std::string(std::size_t{kRanks} * 100, 'x');
  job.last_run = run->id;
  std::vector<Record> leases;
  std::vector<Record> outcomes;
  for (const RankTest& test : run->ranks) {
    leases.push_back(PutLease{{run->parts[test.part].node, test.device}, run->id});
    for (const Op op : kAllOps) {
      outcomes.push_back(PutOutcome{run->id, test.rank, op, {OutcomeCode::kOk, kDetail, 1, 2}});
    }
  }
  const auto time = [](const char* what, const std::function<void()>& work) {
    const Spent spent = Time(work);
    std::printf("%d ranks: %s %.0f ms (cpu %.0f)\n", kRanks, what, spent.wall * 1e3,
                spent.cpu * 1e3);
  };
  time("job stored", [&] { Commit(*store, {PutJob{job}}); });
  time("run stored", [&] { Commit(*store, {PutRun{run}}); });
  time("leases stored", [&] { Commit(*store, leases); });
  time("start stored", [&] { Commit(*store, {PutStarts{run->id, 5}}); });
  time("outcomes stored", [&] { Commit(*store, outcomes); });
  store.reset();
  time("opened and loaded with its open run", [&] {
    store = Store::Open(dir / "assay.db").value();
    if (!store->Load().ok()) Die("cannot load the store with an open run");
  });
  RunHeader closed = *run;
  closed.state = RunState::kClosed;
  time("run closed", [&] { Commit(*store, {PutRunHeader{closed}}); });
  time("loaded with its closed run", [&] {
    if (!store->Load().ok()) Die("cannot load the store with a closed run");
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) setenv("TMPDIR", argv[1], 1);
  TempDir dir;
  Result<std::unique_ptr<Store>> store = Store::Open(dir / "assay.db");
  if (!store.ok()) Die(store.status().text());
  OutcomeBatches(dir, **store);
  BigJob(dir, std::move(store).value());
  return 0;
}
