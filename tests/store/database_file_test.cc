#include "store/database_file.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "store/schema.h"
#include "store/spool.h"
#include "store/store.h"
#include "tests/support/child.h"
#include "tests/support/quiet.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::store;
using namespace assay::support;

namespace {

constexpr int kNobody = 65534;
const Schema kFirst{0x1234, 1, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)", {}};

std::string Bytes(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

// Names and contents of all files except the lock.
std::string Everything(const TempDir& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    if (entry.path().extension() != ".lock") files[entry.path()] = Bytes(entry.path());
  }
  std::string all;
  for (const auto& [name, bytes] : files) all += name + '\n' + bytes + '\n';
  return all;
}

void Make(const std::string& file, const char* sql) {
  Result<std::unique_ptr<Database>> database = Database::Open(file, Database::Access::kCreate);
  REQUIRE(database.ok());
  const Status status = (*database)->Exec(sql);
  INFO(status.text());
  REQUIRE(status.ok());
}

std::unique_ptr<DatabaseFile> Open(const std::string& file, const Schema& schema) {
  Result<std::unique_ptr<DatabaseFile>> opened = DatabaseFile::Open(file, schema, 0644);
  INFO(opened.status().text());
  REQUIRE(opened.ok());
  return std::move(opened).value();
}

Status RefusalText(const std::string& file, const Schema& schema = kFirst) {
  return DatabaseFile::Open(file, schema, 0644).status();
}

}  // namespace

TEST_CASE("a new file has its mode, its version, WAL and full sync") {
  TempDir dir;
  for (const mode_t mode : {0644U, 0600U}) {
    const std::string file = dir / std::to_string(mode);
    Result<std::unique_ptr<DatabaseFile>> opened = DatabaseFile::Open(file, kFirst, mode);
    REQUIRE(opened.ok());
    struct stat info {};
    REQUIRE(stat(file.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == mode);
    Database& database = (*opened)->database();
    CHECK(*database.ReadInt("PRAGMA application_id") == 0x1234);
    CHECK(*database.ReadInt("PRAGMA user_version") == 1);
    CHECK(*database.ReadInt("PRAGMA synchronous") == 2);
    CHECK(*database.ReadInt("PRAGMA journal_mode = wal") == 0);  // text
    CHECK(*database.ReadInt("SELECT a FROM t") == 1);
  }
}

TEST_CASE("an empty file becomes a database, a link is followed") {
  TempDir dir;
  std::ofstream(dir / "empty.db").close();
  Open(dir / "empty.db", kFirst);
  CHECK(Bytes(dir / "empty.db").size() > 4096);
  std::filesystem::create_symlink(dir / "empty.db", dir / "link.db");
  const auto through_link = Open(dir / "link.db", kFirst);
  CHECK(through_link->file() == std::filesystem::canonical(dir / "empty.db"));
  CHECK(RefusalText(dir / "empty.db").code() == Code::kConflict);
}

TEST_CASE("the log of a removed database is not replayed into the new one") {
  TempDir dir;
  const std::string file = dir / "a.db";
  {
    const auto first = Open(file, kFirst);
    REQUIRE(first->database().Exec("INSERT INTO t VALUES (2)").ok());
    std::filesystem::copy_file(file + "-wal", dir / "kept-wal");
  }
  std::filesystem::remove(file);
  std::filesystem::rename(dir / "kept-wal", file + "-wal");
  const auto second = Open(file, kFirst);
  CHECK(*second->database().ReadInt("SELECT count(*) FROM t") == 1);
  CHECK(*second->database().ReadInt("SELECT a FROM t") == 1);
}

TEST_CASE("a file that is not ours is refused and left unchanged") {
  const Quiet quiet;
  TempDir dir;
  const std::string file = dir / "a.db";
  SECTION("another program's") {
    Make(file, "PRAGMA application_id = 77; CREATE TABLE x (a)");
    CHECK_THAT(RefusalText(file).text(), Catch::Contains("another program"));
  }
  SECTION("without a number, with tables") {
    Make(file, "CREATE TABLE x (a)");
    CHECK_THAT(RefusalText(file).text(), Catch::Contains("another program"));
  }
  SECTION("without a number, in WAL") {
    Make(file, "PRAGMA journal_mode = WAL; CREATE TABLE x (a)");
    CHECK_THAT(RefusalText(file).text(), Catch::Contains("another program"));
  }
  SECTION("not a database") {
    std::ofstream(file) << std::string(5'000, 'x');
    CHECK_THAT(RefusalText(file).text(), Catch::Contains("not an SQLite database"));
  }
  SECTION("shorter than a header") {
    std::ofstream(file) << "SQLite format 3";
    CHECK_THAT(RefusalText(file).text(), Catch::Contains("not an SQLite database"));
  }
  SECTION("a folder") {
    std::filesystem::create_directory(file);
    CHECK_THAT(RefusalText(file).text(), Catch::Contains("not an SQLite database"));
    return;
  }
  const std::string before = Everything(dir);
  const Status status = RefusalText(file);
  CHECK(status.code() == Code::kInvalid);
  CHECK_THAT(status.text(), Catch::Contains(file));
  CHECK(Everything(dir) == before);
}

TEST_CASE("a pipe is refused at once") {
  TempDir dir;
  REQUIRE(mkfifo((dir / "pipe").c_str(), 0644) == 0);
  CHECK_THAT(RefusalText(dir / "pipe").text(), Catch::Contains("not an SQLite database"));
}

TEST_CASE(
    "a newer version is refused and left unchanged, even if only its log contains the version") {
  const Quiet quiet;
  const Schema newer{kFirst.application_id, 3, kFirst.create_sql, {}};
  TempDir dir;
  const std::string file = dir / "a.db";
  SECTION("in the file") { Open(file, newer); }
  SECTION("in the log") {
    TempDir other;
    const auto open = Open(other / "a.db", kFirst);
    REQUIRE(open->database().SetPragma("user_version", 3).ok());
    // The files as after kill -9.
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(other / "a.db" + suffix, file + suffix);
    }
  }
  const std::string before = Bytes(file) + Bytes(file + "-wal");
  const Status status = RefusalText(file);
  CHECK(status.code() == Code::kConflict);
  CHECK_THAT(status.text(),
             Catch::Contains(file) && Catch::Contains("version 3") && Catch::Contains("up to 1"));
  CHECK(Bytes(file) + Bytes(file + "-wal") == before);
  CHECK(Open(file, newer)->database().ReadInt("SELECT a FROM t").ok());
}

namespace {

constexpr Migration kSteps[] = {
    {1, "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 20; UPDATE t SET a = a + 1"},
    {2, "CREATE TABLE u (c INTEGER); INSERT INTO u SELECT a FROM t"}};
constexpr Migration kBrokenSteps[] = {kSteps[0], {2, "UPDATE t SET a = 5; INSERT INTO nowhere"}};

}  // namespace

TEST_CASE("an older database is migrated, all steps or none") {
  const Quiet quiet;
  TempDir dir;
  const std::string file = dir / "a.db";
  Open(file, kFirst);
  SECTION("a step fails") {
    const Status status = RefusalText(file, {kFirst.application_id, 3, "", kBrokenSteps});
    CHECK_FALSE(status.ok());
    CHECK_THAT(status.text(), Catch::Contains(file));
  }
  SECTION("a step is missing") {
    const Status status = RefusalText(file, {kFirst.application_id, 4, "", kSteps});
    CHECK(status.code() == Code::kInvalid);
    CHECK_THAT(status.text(), Catch::Contains("version 1") && Catch::Contains("version 4"));
  }
  {
    const auto still_first = Open(file, kFirst);  // nothing was changed
    CHECK(*still_first->database().ReadInt("SELECT a FROM t") == 1);
  }
  const auto third = Open(file, {kFirst.application_id, 3, "", kSteps});
  CHECK(*third->database().ReadInt("PRAGMA user_version") == 3);
  CHECK(*third->database().ReadInt("SELECT b FROM t") == 20);
  CHECK(*third->database().ReadInt("SELECT c FROM u") == 2);
}

TEST_CASE("a second instance is refused, and the error names the first one's process") {
  TempDir dir;
  const std::string file = dir / "a.db";
  Child holder({ASSAY_STORE_CHILD, "hold", file});
  std::string line;
  REQUIRE(holder.ReadLine(&line));
  REQUIRE(line == "open");
  const Status status = Store::Open(file).status();
  CHECK(status.code() == Code::kConflict);
  CHECK_THAT(status.text(), Catch::Contains(file) && Catch::Contains(std::to_string(holder.pid())));
  holder.Kill(SIGKILL);
  holder.Wait();
  CHECK(Store::Open(file).ok());  // the lock ended with its process

  const auto here = Store::Open(file);
  REQUIRE(here.ok());
  Child second({ASSAY_STORE_CHILD, "hold", file});
  CHECK_THAT(second.ReadAll(), Catch::Contains(std::to_string(getpid())));
  CHECK(second.Wait() == 1);
}

TEST_CASE("a missing folder, a read-only folder, a read-only file") {
  const Quiet quiet;
  TempDir dir;
  const Status missing = RefusalText(dir / "no/such/a.db");
  CHECK(missing.code() == Code::kNotFound);
  CHECK_THAT(missing.text(), Catch::Contains("no/such") && Catch::Contains("create it first"));
  CHECK(RefusalText("").code() == Code::kInvalid);

  std::filesystem::create_directory(dir / "sealed");
  { Store::Open(dir / "sealed/a.db").value(); }
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const std::string child = dir / "child";
  std::filesystem::copy_file(ASSAY_STORE_CHILD, child);
  const int user = geteuid() == 0 ? kNobody : -1;
  const auto opened_by_other = [&](const std::string& file) {
    Child process({child, "hold", file}, user);
    process.CloseInput();
    return process.ReadAll();
  };
  std::filesystem::permissions(dir / "sealed", std::filesystem::perms(0555));
  CHECK_THAT(opened_by_other(dir / "sealed/new.db"), Catch::Contains("new.db") &&
                                                         Catch::Contains("Permission denied") &&
                                                         Catch::Contains("writable"));
  // The folder is writable, the file is not.
  std::filesystem::permissions(dir / "sealed", std::filesystem::perms(0777));
  std::filesystem::permissions(dir / "sealed/a.db", std::filesystem::perms(0444));
  std::filesystem::permissions(dir / "sealed/a.db.lock", std::filesystem::perms(0666));
  CHECK_THAT(opened_by_other(dir / "sealed/a.db"),
             Catch::Contains("a.db") && Catch::Contains("read-only"));
}

TEST_CASE("a damaged database is refused after a hard stop") {
  const Quiet quiet;
  const Schema schema{kFirst.application_id,
                      1,
                      "CREATE TABLE t (a); CREATE TABLE u (b); INSERT INTO u VALUES (1)",
                      {}};
  TempDir dir;
  {
    const auto open = Open(dir / "a.db", schema);
    REQUIRE(open->database().Exec("INSERT INTO t VALUES (2)").ok());
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(dir / "a.db" + suffix, dir / "b.db" + suffix);
    }
  }
  std::filesystem::resize_file(dir / "b.db", 3 * 4096);
  std::fstream damage(dir / "b.db", std::ios::in | std::ios::out | std::ios::binary);
  damage.seekp(2 * 4096);  // the page of u
  damage << std::string(4096, '\xa5');
  damage.close();
  const Status status = RefusalText(dir / "b.db", schema);
  CHECK_FALSE(status.ok());
  CHECK_THAT(status.text(), Catch::Contains("b.db") && Catch::Contains("damaged"));
}

TEST_CASE("a database that was moved away refuses commits until it is back") {
  const Quiet quiet;
  TempDir dir;
  const std::string file = dir / "a.db";
  const auto store = Store::Open(file).value();
  const AddEvent event{1, "k", "", kNoRun, "", "t"};
  REQUIRE(store->Commit({event}).ok());
  std::filesystem::rename(file, dir / "away.db");
  for (int i = 0; i < 2; ++i) {
    const Status status = store->Commit({event});
    CHECK(status.code() == Code::kUnavailable);
    CHECK_THAT(status.text(), Catch::Contains(file) && Catch::Contains("moved or removed"));
  }
  std::filesystem::rename(dir / "away.db", file);
  const Status status = store->Commit({event});
  INFO(status.text());
  CHECK(status.ok());
  Child reader({ASSAY_STORE_CHILD, "read", file, "SELECT count(*) FROM events"});
  CHECK(reader.ReadAll() == "2\n");
}

TEST_CASE("the coordinator refuses an agent's database, and the agent a coordinator's") {
  TempDir dir;
  { Store::Open(dir / "coordinator.db").value(); }
  { Spool::Open(dir / "agent.db").value(); }
  CHECK(Spool::Open(dir / "coordinator.db").status().code() == Code::kInvalid);
  CHECK(Store::Open(dir / "agent.db").status().code() == Code::kInvalid);
}
