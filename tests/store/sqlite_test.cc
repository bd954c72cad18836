#include "store/sqlite.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>

#include "tests/support/quiet.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::store;
using namespace assay::support;

namespace {

std::unique_ptr<Database> Open(const std::string& file,
                               Database::Access access = Database::Access::kCreate) {
  Result<std::unique_ptr<Database>> database = Database::Open(file, access);
  INFO(database.status().text());
  REQUIRE(database.ok());
  return std::move(database).value();
}

Statement Prepare(Database& database, std::string_view sql) {
  Result<Statement> statement = Statement::Prepare(database, sql);
  INFO(statement.status().text());
  REQUIRE(statement.ok());
  return std::move(statement).value();
}

enum class Colour : std::uint8_t { kRed = 7 };

}  // namespace

TEST_CASE("values are read as they were bound") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  REQUIRE(database->Exec("CREATE TABLE t (a, b, c, d, e, f, g)").ok());
  {
    Statement insert = Prepare(*database, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)");
    const std::string with_nul("x\0y", 3);
    REQUIRE(insert
                .Run(std::int64_t{-5'000'000'000}, with_nul, std::string_view(), Colour::kRed, true,
                     std::nullopt, std::optional<std::int64_t>(4))
                .ok());
    Statement select = Prepare(*database, "SELECT * FROM t");
    Rows rows = select.Query();
    REQUIRE(rows.Next());
    CHECK(rows.Int(0) == -5'000'000'000);
    CHECK(rows.Text(1) == with_nul);
    CHECK(rows.Text(2).empty());
    CHECK_FALSE(rows.IsNull(2));  // an empty text is not NULL
    CHECK(rows.Int(3) == 7);
    CHECK(rows.Int(4) == 1);
    CHECK(rows.IsNull(5));
    CHECK(rows.Int(6) == 4);
    CHECK_FALSE(rows.Next());
    CHECK_FALSE(rows.Next());  // and does not restart
    CHECK(rows.status().ok());
  }
  CHECK(database->Close().ok());
}

TEST_CASE("the destructor of Rows resets the statement, however far it was stepped") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  REQUIRE(database->Exec("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)").ok());
  Statement select = Prepare(*database, "SELECT a FROM t");
  for (int i = 0; i < 2; ++i) {
    Rows rows = select.Query();
    REQUIRE(rows.Next());
    CHECK(rows.Int(0) == 1);
  }
  // A statement that is stepped and not reset would keep the table locked.
  CHECK(database->Exec("DROP TABLE t").ok());
}

TEST_CASE("a failed statement can be run again") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  REQUIRE(database->Exec("CREATE TABLE t (a INTEGER PRIMARY KEY)").ok());
  Statement insert = Prepare(*database, "INSERT INTO t VALUES (?)");
  CHECK(insert.Run(1).ok());
  const Status twice = insert.Run(1);
  CHECK_FALSE(twice.ok());
  CHECK_THAT(twice.text(), Catch::Contains("a.db") && Catch::Contains("UNIQUE"));
  CHECK(insert.Run(2).ok());
  Result<std::int64_t> count = database->ReadInt("SELECT count(*) FROM t");
  REQUIRE(count.ok());
  CHECK(*count == 2);
}

TEST_CASE("a transaction that is not committed is rolled back") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  REQUIRE(database->Exec("CREATE TABLE t (a)").ok());
  for (const bool commit : {false, true}) {
    {
      Transaction transaction(database.get());
      REQUIRE(transaction.Begin(Transaction::Kind::kWrite).ok());
      REQUIRE(database->Exec("INSERT INTO t VALUES (1)").ok());
      if (commit) REQUIRE(transaction.Commit().ok());
    }
    CHECK_FALSE(database->in_transaction());
    CHECK(*database->ReadInt("SELECT count(*) FROM t") == (commit ? 1 : 0));
  }
}

TEST_CASE("a writer takes the write lock at once") {
  TempDir dir;
  const auto one = Open(dir / "a.db");
  REQUIRE(one->Exec("CREATE TABLE t (a)").ok());
  REQUIRE(one->SetWal().ok());
  const auto two = Open(dir / "a.db");
  REQUIRE(sqlite3_busy_timeout(two->handle(), 0) == SQLITE_OK);
  Transaction first(one.get());
  REQUIRE(first.Begin(Transaction::Kind::kWrite).ok());
  Transaction second(two.get());
  const Status status = second.Begin(Transaction::Kind::kWrite);
  CHECK(status.code() == Code::kUnavailable);
  CHECK_THAT(status.text(), Catch::Contains("used by another process") && Catch::Contains("a.db"));
  CHECK(second.Begin(Transaction::Kind::kRead).ok());
}

TEST_CASE("every connection is configured") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  CHECK(*database->ReadInt("PRAGMA foreign_keys") == 1);
  CHECK(*database->ReadInt("PRAGMA trusted_schema") == 0);
  CHECK(*database->ReadInt("PRAGMA temp_store") == 2);
  CHECK(*database->ReadInt("PRAGMA busy_timeout") == kBusyTimeoutMs);
  // "x" is a column that does not exist, not a text.
  CHECK_FALSE(Statement::Prepare(*database, "SELECT \"x\"").ok());
  REQUIRE(database->Exec("CREATE TABLE t (a PRIMARY KEY)").ok());
  Statement insert = Prepare(*database, "INSERT INTO t VALUES (1)");
  REQUIRE(insert.Run().ok());
  REQUIRE_FALSE(insert.Run().ok());
  CHECK(sqlite3_errcode(database->handle()) == SQLITE_CONSTRAINT_PRIMARYKEY);
}

TEST_CASE("a PRAGMA without effect is an error") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  REQUIRE(database->Exec("CREATE TABLE t (a)").ok());
  CHECK(database->SetPragma("user_version", 3).ok());
  CHECK_FALSE(database->SetPragma("page_size", 12'345).ok());
  const auto memory = Open(":memory:");
  CHECK(memory->SetWal().code() == Code::kUnsupported);
}

TEST_CASE("an error of Open names the cause") {
  TempDir dir;
  const Status absent = Database::Open(dir / "absent.db", Database::Access::kReadOnly).status();
  CHECK(absent.code() == Code::kUnavailable);
  CHECK_THAT(absent.text(), Catch::Contains("absent.db") && Catch::Contains("No such file"));
}

TEST_CASE("closing a connection fails with an error while a statement is alive") {
  const Quiet quiet;
  TempDir dir;
  const auto database = Open(dir / "a.db");
  {
    Statement select = Prepare(*database, "SELECT 1");
    CHECK_FALSE(database->Close().ok());
    CHECK(select.Run().ok());
  }
  CHECK(database->Close().ok());
  CHECK(database->Close().ok());
}

TEST_CASE("a statement can be moved") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  Statement a = Prepare(*database, "SELECT 1");
  Statement b = std::move(a);
  Statement c;
  c = std::move(b);
  Rows rows = c.Query();
  REQUIRE(rows.Next());
  CHECK(rows.Int(0) == 1);
}

TEST_CASE("a large cache is freed, a small one is not") {
  TempDir dir;
  const auto database = Open(dir / "a.db");
  REQUIRE(database->SetPragma("cache_size", -32 * 1024).ok());
  REQUIRE(database->Exec("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(8000000))").ok());
  const auto cached = [&] {
    int used = 0;
    int highest = 0;
    REQUIRE(sqlite3_db_status(database->handle(), SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0) ==
            SQLITE_OK);
    return used;
  };
  const int before = cached();
  REQUIRE(before > 4'000'000);
  database->ShrinkCache(before);
  CHECK(cached() == before);
  database->ShrinkCache(4'000'000);
  CHECK(cached() < 1'000'000);
  CHECK(database->ReadInt("SELECT length(a) FROM t").value() == 8'000'000);
}
