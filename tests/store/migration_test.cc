// Opens a database that version 1 created.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "base/log.h"
#include "store/schema.h"
#include "store/store.h"
#include "tests/support/temp_dir.h"

namespace assay::store {
namespace {

class OldDatabase {
 public:
  OldDatabase() { base::SetLogLevel(base::LogLevel::kOff); }
  ~OldDatabase() { base::SetLogLevel(base::LogLevel::kInfo); }
  OldDatabase(const OldDatabase&) = delete;
  OldDatabase& operator=(const OldDatabase&) = delete;

  // Creates the file and executes `sql` in it.
  void CreateOld(const std::string& sql) {
    std::ostringstream text;
    text << std::ifstream(std::string(ASSAY_SOURCE_ROOT) + "/tests/store/schema_v1.sql").rdbuf();
    const std::string create = text.str();
    REQUIRE_FALSE(create.empty());
    const Schema old{kStoreApplicationId, 1, create.c_str(), {}};
    base::Result<std::unique_ptr<DatabaseFile>> opened = DatabaseFile::Open(file, old, 0644);
    INFO(opened.status().text());
    REQUIRE(opened.ok());
    REQUIRE((*opened)->database().Exec(sql.c_str()).ok());
    REQUIRE((*opened)->Close().ok());
  }

  std::unique_ptr<Store> Open() {
    base::Result<std::unique_ptr<Store>> opened = Store::Open(file);
    INFO(opened.status().text());
    REQUIRE(opened.ok());
    return std::move(opened).value();
  }

  support::TempDir dir;
  const std::string file = dir / "assay.db";
};

constexpr char kRun[] =
    "INSERT INTO runs (run, job, state, executor, ops, ranks, expected, cancelled, created,"
    " notify_after, start_by, started, deadline, ended, message)"
    " VALUES (?, 'job', 'testing', 'agent', 3, 0, 0, 0, 1, 2, 3, 4, 5, 0, '')";

std::string InsertRun(int id) {
  return std::regex_replace(std::string(kRun), std::regex("\\?"), std::to_string(id)) + ";";
}

// The statements that created each table, index and view, without white space, comments and the
// keyword that version 1 had and version 2 does not need.
std::map<std::string, std::string> Statements(const std::string& file) {
  const auto database = Database::Open(file, Database::Access::kReadOnly).value();
  base::Result<Statement> select =
      Statement::Prepare(*database, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL");
  REQUIRE(select.ok());
  std::map<std::string, std::string> statements;
  Rows rows = select->Query();
  while (rows.Next()) {
    const std::regex ignored("--[^\n]*|AUTOINCREMENT|\\s+");
    statements[std::string(rows.Text(0))] =
        std::regex_replace(std::string(rows.Text(1)), ignored, "");
  }
  statements.erase("sqlite_sequence");
  return statements;
}

TEST_CASE("a database of version 1 opens, and its run numbers continue") {
  OldDatabase old;
  old.CreateOld(InsertRun(7) + InsertRun(41) + "DELETE FROM runs WHERE run = 41;");
  auto store = old.Open();
  base::Result<core::Durable> durable = store->Load();
  INFO(durable.status().text());
  REQUIRE(durable.ok());
  CHECK(durable->next_run == 42);
  REQUIRE(durable->runs.size() == 1);
  CHECK(durable->runs.at(7).deadline == 5);

  auto run = std::make_shared<core::Run>();
  run->id = 42;
  REQUIRE(store->Commit({core::PutRun{run}}).ok());
  store = nullptr;
  store = old.Open();
  CHECK(store->Load()->next_run == 43);
  const auto reader = Database::Open(old.file, Database::Access::kReadOnly).value();
  CHECK(*reader->ReadInt("PRAGMA user_version") == StoreSchema().version);
}

TEST_CASE("a database of version 1 without runs starts at run 1") {
  OldDatabase old;
  old.CreateOld("");
  CHECK(old.Open()->Load()->next_run == 1);
}

TEST_CASE("a migrated database has the tables, indexes and views of a new one") {
  OldDatabase old;
  old.CreateOld(InsertRun(1));
  old.Open();
  Store::Open(old.dir / "new.db").value();
  const auto migrated = Statements(old.file);
  CHECK(migrated.size() > 20);
  CHECK(migrated == Statements(old.dir / "new.db"));
}

}  // namespace
}  // namespace assay::store
