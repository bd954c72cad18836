// Every user who may read the folder can read the database at any time: while it is in use, after a
// clean stop, after kill -9. Readers never delay the writer.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "store/store.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::store;
using namespace assay::support;

namespace {

const std::string kChild = ASSAY_STORE_CHILD;
constexpr int kNobody = 65534;

// Another user if the test may switch to one, else this user.
int OtherUser() { return geteuid() == 0 ? kNobody : -1; }

// A copy, because the test program may be in a folder that other users cannot read.
std::string ChildForAll(const TempDir& dir) {
  const std::string copy = dir / "child";
  if (!std::filesystem::exists(copy)) std::filesystem::copy_file(kChild, copy);
  return copy;
}

std::unique_ptr<Store> Open(const std::string& file) {
  Result<std::unique_ptr<Store>> store = Store::Open(file);
  INFO(store.status().text());
  REQUIRE(store.ok());
  return std::move(store).value();
}

AddEvent AnEvent(const std::string& text) { return {1, "kind", "", kNoRun, "", text}; }

}  // namespace

TEST_CASE("another user can read at any time") {
  TempDir dir;
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const std::string reader = ChildForAll(dir);
  const std::string file = dir / "assay.db";
  const auto count = [&] {
    Child child({reader, "read", file, "SELECT count(*) FROM events"}, OtherUser());
    return child.ReadAll();
  };
  const mode_t before = umask(0077);
  auto store = Open(file);
  umask(before);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat info {};
    REQUIRE(stat((file + suffix).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0644);
  }
  CHECK(count() == "0\n");  // nothing is written yet
  REQUIRE(store->Commit({AnEvent("a")}).ok());
  CHECK(count() == "1\n");
  for (int i = 0; i < 50; ++i) REQUIRE(store->Commit({AnEvent(std::string(100'000, 'x'))}).ok());
  store->Idle();  // checkpointed
  CHECK(count() == "51\n");
  REQUIRE(store->Commit({AnEvent("b")}).ok());  // the log restarts
  CHECK(count() == "52\n");
  store.reset();  // a clean stop
  CHECK(count() == "52\n");
  CHECK(count() == "52\n");

  {
    Child writer({kChild, "commit", dir / "killed.db", "5", "0"});
    std::string line;
    for (int i = 0; i < 20; ++i) REQUIRE(writer.ReadLine(&line));
    writer.Kill(SIGKILL);
    writer.Wait();
  }
  Child child({reader, "read", dir / "killed.db", "SELECT count(*) > 0 FROM runs"}, OtherUser());
  CHECK(child.ReadAll() == "1\n");
}

TEST_CASE("another user's shell cannot write") {
  if (geteuid() != 0) return;
  TempDir dir;
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const std::string reader = ChildForAll(dir);
  const auto store = Open(dir / "assay.db");
  Child child({reader, "hold", dir / "assay.db"}, kNobody);
  CHECK_THAT(child.ReadAll(), Catch::Contains("assay.db") && Catch::Contains("writable"));
  CHECK(child.Wait() == 1);
}

TEST_CASE("a reader sees one state while the writer continues") {
  TempDir dir;
  const std::string file = dir / "assay.db";
  const auto store = Open(file);
  REQUIRE(store->Commit({AnEvent("a")}).ok());
  Child reader({kChild, "begin", file, "SELECT count(*) FROM events"});
  std::string line;
  REQUIRE(reader.ReadLine(&line));
  CHECK(line == "1");
  // Far above the length that causes a checkpoint: the reader prevents the reuse of the log, but
  // neither side waits or fails.
  for (int i = 0; i < 30; ++i) {
    REQUIRE(store->Commit({AnEvent(std::string(500'000, 'x'))}).ok());
    store->Idle();
  }
  const auto log = [&] { return std::filesystem::file_size(file + "-wal"); };
  CHECK(log() > 14'000'000);
  reader.CloseInput();
  CHECK(reader.Wait() == 0);
  // After the reader has ended, the log is copied and reused from its beginning.
  const auto grown = log();
  for (int i = 0; i < 30; ++i) {
    REQUIRE(store->Commit({AnEvent(std::string(500'000, 'x'))}).ok());
    store->Idle();
  }
  CHECK(log() < grown + 6'000'000);
  Child late({kChild, "read", file, "SELECT count(*) FROM events"});
  CHECK(late.ReadAll() == "61\n");
}

TEST_CASE("readers and the writer at the same time") {
  TempDir dir;
  const std::string file = dir / "assay.db";
  const auto store = Open(file);
  // A reader sees both events of a batch or none.
  const std::string sql = "SELECT count(*) % 2 FROM events";
  for (int round = 0; round < 10; ++round) {
    Child a({kChild, "read", file, sql});
    Child b({kChild, "read", file, sql});
    for (int i = 0; i < 50; ++i) REQUIRE(store->Commit({AnEvent("a"), AnEvent("b")}).ok());
    store->Idle();
    CHECK(a.ReadAll() == "0\n");
    CHECK(b.ReadAll() == "0\n");
  }
}
