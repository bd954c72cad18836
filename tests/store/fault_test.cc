// A disk that fails at each call of a batch, once or from then on. After any failure no batch is
// stored in part, and later commits succeed.
#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "store/spool.h"
#include "store/store.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/record_source.h"
#include "tests/support/child.h"
#include "tests/support/durable_text.h"
#include "tests/support/quiet.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::core::node;
using namespace assay::store;
using namespace assay::support;

namespace {

constexpr int kSkipped = 77;  // exit status of store_child

std::unique_ptr<Store> Open(const std::string& file) {
  Result<std::unique_ptr<Store>> store = Store::Open(file);
  INFO(store.status().text());
  REQUIRE(store.ok());
  return std::move(store).value();
}

std::string Stored(Store& store) {
  Result<Durable> durable = store.Load();
  INFO(durable.status().text());
  REQUIRE(durable.ok());
  return DurableText(*durable);
}

// Commits batches, the nth with its nth call failing, until a batch has fewer than n calls. A batch
// is large enough to be spilled to the log before the commit, and to be checkpointed.
void FailEverywhere(FaultVfs* vfs, FaultVfs::Calls calls, int code, bool on) {
  CAPTURE(code, on);
  TempDir dir;
  auto store = Open(dir / "assay.db");
  BatchSequence batches(3);
  std::string before = Stored(*store);
  int refused = 0;
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    CAPTURE(nth);
    std::vector<Record> batch = batches.Next();
    batch.push_back(AddEvent{1, "big", "", kNoRun, "", std::string(200'000, 'x')});
    vfs->FailAt(calls, nth, code, on);
    const Status status = store->Commit(batch);
    store->Idle();
    failed = vfs->failed();
    vfs->Heal();
    if (!status.ok()) {
      ++refused;
      CHECK(status.code() == Code::kUnavailable);
      CHECK_THAT(status.text(), Catch::Contains("assay.db"));
      REQUIRE(FirstDifference(Stored(*store), before) == "");
      // The same connection accepts the same records once the disk works again.
      const Status again = store->Commit(batch);
      INFO(again.text());
      REQUIRE(again.ok());
    }
    before = DurableText(batches.model().Stored());
    REQUIRE(FirstDifference(Stored(*store), before) == "");
    if (nth % 10 == 0) {  // and the same state is on the disk
      store.reset();
      store = Open(dir / "assay.db");
      REQUIRE(FirstDifference(Stored(*store), before) == "");
    }
  }
  CHECK(refused > 0);
}

}  // namespace

TEST_CASE("a full or broken disk at every call of a batch") {
  const Quiet quiet;
  FaultVfs vfs;
  for (const bool on : {false, true}) {
    FailEverywhere(&vfs, FaultVfs::Calls::kAll, SQLITE_FULL, on);
    FailEverywhere(&vfs, FaultVfs::Calls::kAll, SQLITE_IOERR_WRITE, on);
    FailEverywhere(&vfs, FaultVfs::Calls::kSyncs, SQLITE_IOERR_FSYNC, on);
  }
}

TEST_CASE("the error of a full disk names the file") {
  const Quiet quiet;
  FaultVfs vfs;
  TempDir dir;
  const auto store = Open(dir / "assay.db");
  vfs.FailAt(FaultVfs::Calls::kAll, 1, SQLITE_FULL, true);
  const Status status = store->Commit({AddEvent{1, "k", "", kNoRun, "", "t"}});
  vfs.Heal();
  CHECK(status.code() == Code::kUnavailable);
  CHECK_THAT(status.text(), Catch::Contains("the disk is full") && Catch::Contains("assay.db") &&
                                Catch::Contains("free some space"));
}

TEST_CASE("a database that cannot be created leaves nothing behind") {
  const Quiet quiet;
  FaultVfs vfs;
  TempDir dir;
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    CAPTURE(nth);
    vfs.FailAt(FaultVfs::Calls::kAll, nth, SQLITE_FULL, true);
    {
      const Result<std::unique_ptr<Store>> store = Store::Open(dir / "assay.db");
      failed = vfs.failed();
      vfs.Heal();
      CHECK((failed || store.ok()));
      if (!store.ok()) CHECK_THAT(store.status().text(), Catch::Contains("assay.db"));
    }
    // The file, if there is one now, is complete.
    const auto store = Open(dir / "assay.db");
    CHECK(FirstDifference(Stored(*store), DurableText(Durable())) == "");
    store->Close().ok();
    for (const char* suffix : {"", "-wal", "-shm"}) unlink((dir / "assay.db" + suffix).c_str());
    CHECK(access((dir / "assay.db.new").c_str(), F_OK) != 0);
  }
}

TEST_CASE("a failed commit does not change the spool either") {
  const Quiet quiet;
  FaultVfs vfs;
  TempDir dir;
  Result<std::unique_ptr<Spool>> spool = Spool::Open(dir / "agent.db");
  REQUIRE(spool.ok());
  Assign assign;
  assign.run = 1;
  assign.ranks.push_back({0, 0, OpSet(3)});
  bool failed = true;
  int refused = 0;
  for (int nth = 1; failed; ++nth) {
    assign.run = nth;
    vfs.FailAt(FaultVfs::Calls::kAll, nth, SQLITE_FULL, false);
    const Status status =
        (*spool)->Commit({SpoolRun{assign}, SpoolStarted{assign.run},
                          SpoolOutcome{{assign.run, 0, Op::kAic}, {OutcomeCode::kOk, "d", 1, 2}}});
    failed = vfs.failed();
    vfs.Heal();
    const Result<Spooled> spooled = (*spool)->Load();
    REQUIRE(spooled.ok());
    CHECK(spooled->contains(assign.run) == status.ok());
    refused += status.ok() ? 0 : 1;
  }
  CHECK(refused > 0);
}

TEST_CASE("loading does not read closed runs") {
  FaultVfs vfs;
  TempDir dir;
  auto store = Open(dir / "assay.db");
  for (RunId id = 1; id <= 20; ++id) {
    auto run = std::make_shared<Run>();
    run->id = id;
    run->parts.push_back({"n", "n", "", PartState::kStarted});
    run->state = id == 7 ? RunState::kTesting : RunState::kClosed;
    std::vector<Record> records = {PutRun{run}};
    for (std::int32_t rank = 0; rank < (id == 7 ? 10 : 2'000); ++rank) {
      run->ranks.emplace_back().rank = rank;
      records.push_back(PutOutcome{id, rank, Op::kAic, {OutcomeCode::kOk, "some detail", 1, 2}});
    }
    REQUIRE(store->Commit(records).ok());
  }
  store.reset();
  REQUIRE(std::filesystem::file_size(dir / "assay.db") > 2'000'000);
  store = Open(dir / "assay.db");
  const int before = vfs.reads();
  const Result<Durable> durable = store->Load();
  REQUIRE(durable.ok());
  CHECK(durable->runs.at(7).ranks.size() == 10);
  CHECK(vfs.reads() - before < 100);
}

TEST_CASE("a real full file system") {
  TempDir dir;
  Child child({ASSAY_STORE_CHILD, "full", dir.path()});
  const std::string said = child.ReadAll();
  const int status = child.Wait();
  CAPTURE(said);
  if (status == kSkipped) {
    WARN("skipped: no permission to mount a small file system");
    return;
  }
  CHECK(status == 0);
}
