#include "store/schema.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <regex>

#include "core/run_counts.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/utc.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::store;
using namespace assay::support;

namespace {

using Table = std::vector<std::vector<std::string>>;

Table Select(Database& database, const std::string& sql, int columns) {
  Result<Statement> statement = Statement::Prepare(database, sql);
  INFO(statement.status().text());
  REQUIRE(statement.ok());
  Rows rows = statement->Query();
  Table table;
  while (rows.Next()) {
    table.emplace_back();
    for (int i = 0; i < columns; ++i) {
      table.back().push_back(rows.IsNull(i) ? "NULL" : std::string(rows.Text(i)));
    }
  }
  INFO(rows.status().text());
  REQUIRE(rows.status().ok());
  return table;
}

std::vector<std::string> Columns(Database& database, const std::string& name) {
  std::vector<std::string> columns;
  for (const auto& row :
       Select(database, "SELECT name FROM pragma_table_info('" + name + "')", 1)) {
    columns.push_back(row[0]);
  }
  return columns;
}

// Two nodes with two devices each; every run has all four ranks.
struct Fixture {
  void Run(RunId id, const std::string& job, RunState state = RunState::kTesting) {
    auto run = std::make_shared<assay::core::Run>();
    run->id = id;
    run->job = job;
    run->state = state;
    run->started = 1'700'000'000'000;
    run->deadline = 1'700'000'900'123;
    run->rank_count = 4;
    run->expected = 8;
    run->parts = {{"n1", "n1", "", PartState::kStarted}, {"n2", "n2", "", PartState::kStarted}};
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      RankTest test;
      test.rank = rank;
      test.device = rank % 2;
      test.part = rank < 2 ? 0 : 1;
      test.ops = OpSet(3);
      run->ranks.push_back(test);
    }
    Commit({PutRun{run}});
  }
  void Answer(RunId run, std::int32_t rank, Op op, OutcomeCode code, const std::string& detail = "",
              Ms finished = 1'700'000'000'500) {
    Commit({PutOutcome{run, rank, op, {code, detail, 1'700'000'000'000, finished}}});
  }
  void Commit(const std::vector<Record>& records) {
    const Status status = store->Commit(records);
    INFO(status.text());
    REQUIRE(status.ok());
  }
  Table operator()(const std::string& sql, int columns) { return Select(*reader, sql, columns); }

  TempDir dir;
  std::unique_ptr<Store> store = Store::Open(dir / "assay.db").value();
  std::unique_ptr<Database> reader =
      Database::Open(dir / "assay.db", Database::Access::kReadOnly).value();
};

}  // namespace

TEST_CASE("the schema has no syntax newer than the sqlite3 shell of 3.26") {
  for (const char* sql : {StoreSchema().create_sql, SpoolSchema().create_sql}) {
    const std::string code = std::regex_replace(std::string(sql), std::regex("--[^\n]*"), "");
    REQUIRE(code.find("CREATE TABLE") != std::string::npos);
    for (const char* newer :
         {"\\bSTRICT\\b", "\\biif\\s*\\(", "\\bNULLS\\s+(FIRST|LAST)\\b", "\\bRETURNING\\b",
          "\\bMATERIALIZED\\b", "\\bunixepoch\\s*\\(", "\\bformat\\s*\\(", "->", "\\bGENERATED\\b",
          "\\bFILTER\\s*\\(", "\\b(RIGHT|FULL)\\s+(OUTER\\s+)?JOIN\\b", "\\bDISTINCT\\s+FROM\\b",
          "\\bjson", "\\bOVER\\s*\\(", "\\bUPDATE\\s+\\w+\\s+SET[^;]*FROM", "\\bDROP\\s+COLUMN\\b",
          "\\bmath|\\bsqrt|\\bceil|\\bfloor|\\bstring_agg|\\btimediff"}) {
      CAPTURE(newer);
      CHECK_FALSE(std::regex_search(code, std::regex(newer, std::regex::icase)));
    }
  }
}

TEST_CASE("the views have the published columns") {
  Fixture fixture;
  const std::vector<std::string> results = {"run",    "job",     "node",     "rank",
                                            "device", "op",      "outcome",  "code",
                                            "detail", "started", "finished", "seconds"};
  CHECK(Columns(*fixture.reader, "results") == results);
  CHECK(Columns(*fixture.reader, "latest") == results);
  CHECK(Columns(*fixture.reader, "run_progress") ==
        std::vector<std::string>{"run", "job", "state", "executor", "ranks", "answered", "faulty",
                                 "started", "deadline"});
  CHECK(Columns(*fixture.reader, "faulty") == std::vector<std::string>{"node", "device", "op",
                                                                       "outcome", "since", "why",
                                                                       "run", "job", "rank"});
  CHECK(Columns(*fixture.reader, "ranks") ==
        std::vector<std::string>{"job", "rank", "node", "device"});
}

TEST_CASE("the view results has names instead of numbers") {
  Fixture fixture;
  fixture.Run(7, "job-a");
  fixture.Answer(7, 2, Op::kP2p, OutcomeCode::kVoltageNotRestored, "why");
  fixture.Commit(
      {PutOutcome{7, 3, Op::kAic, {OutcomeCode::kNotRun, "gate", 0, 1'700'000'000'001}}});
  CHECK(fixture("SELECT * FROM results ORDER BY rank", 12) ==
        Table{{"7", "job-a", "n2", "2", "0", "p2p", "voltage_not_restored", "4", "why",
               "2023-11-14T22:13:20.000Z", "2023-11-14T22:13:20.500Z", "0.5"},
              {"7", "job-a", "n2", "3", "1", "aic", "not_run", "1", "gate", "NULL",
               "2023-11-14T22:13:20.001Z", "NULL"}});
  for (int code = 0; code < kOutcomeCodes; ++code) {
    fixture.Answer(7, code % 2, code < 2 ? Op::kAic : Op::kP2p, static_cast<OutcomeCode>(code));
  }
  for (const auto& row : fixture("SELECT code, outcome FROM results", 2)) {
    CHECK(row[1] == Name(*OutcomeCodeFromInt(std::stoi(row[0]))));
  }
}

TEST_CASE("times in views are exact to the millisecond") {
  Fixture fixture;
  auto run = std::make_shared<Run>();
  run->id = 1;
  run->parts.push_back({"n", "n", "", PartState::kStarted});
  std::mt19937_64 random(4);
  std::vector<Record> records;
  std::vector<Ms> times;
  for (std::int32_t rank = 0; rank < 20'000; ++rank) {
    RankTest test;
    test.rank = rank;
    test.ops = OpSet(1);
    run->ranks.push_back(test);
    times.push_back(std::uniform_int_distribution<Ms>(1, 4'102'444'800'000)(random));
    records.push_back(PutOutcome{1, rank, Op::kAic, {OutcomeCode::kOk, "", 1, times.back()}});
  }
  fixture.Commit({PutRun{run}});
  fixture.Commit(records);
  const Table table = fixture("SELECT finished FROM results ORDER BY rank", 1);
  REQUIRE(table.size() == times.size());
  int wrong = 0;
  for (std::size_t i = 0; i < times.size(); ++i) wrong += table[i][0] == UtcText(times[i]) ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("latest has the newest result of each node, device and op") {
  Fixture fixture;
  CHECK(fixture("SELECT * FROM latest", 1).empty());
  fixture.Run(1, "job-a");
  CHECK(fixture("SELECT * FROM latest", 1).empty());
  fixture.Run(2, "job-b");
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    fixture.Answer(1, rank, Op::kAic, OutcomeCode::kOk);
    fixture.Answer(1, rank, Op::kP2p, OutcomeCode::kOk);
  }
  fixture.Answer(2, 1, Op::kAic, OutcomeCode::kTimeout);
  fixture.Answer(2, 2, Op::kP2p, OutcomeCode::kFaulty);
  CHECK(fixture("SELECT node, device, op, run, code, job FROM latest ORDER BY 1, 2, 3", 6) ==
        Table{{"n1", "0", "aic", "1", "0", "job-a"},
              {"n1", "0", "p2p", "1", "0", "job-a"},
              {"n1", "1", "aic", "2", "3", "job-b"},
              {"n1", "1", "p2p", "1", "0", "job-a"},
              {"n2", "0", "aic", "1", "0", "job-a"},
              {"n2", "0", "p2p", "2", "2", "job-b"},
              {"n2", "1", "aic", "1", "0", "job-a"},
              {"n2", "1", "p2p", "1", "0", "job-a"}});
}

TEST_CASE("latest equals its plain definition for random runs") {
  Fixture fixture;
  std::mt19937_64 random(9);
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  for (RunId id = 1; id <= 12; ++id) {
    auto run = std::make_shared<Run>();
    run->id = id;
    std::vector<Record> records = {PutRun{run}};
    for (int n = 0; n < 4; ++n) {
      run->parts.push_back({n == 0 ? "" : "n" + std::to_string(n), "", "", PartState::kStarted});
    }
    for (std::int32_t rank = 0; rank < 12; ++rank) {
      RankTest test;
      test.rank = rank;
      test.part = static_cast<std::uint32_t>(rank / 3);
      test.device = rank % 3 - (pick(4) == 0 ? 1 : 0);  // includes -1 and a device used twice
      test.ops = OpSet(3);
      run->ranks.push_back(test);
      for (const Op op : kAllOps) {
        if (pick(3) == 0) records.push_back(PutOutcome{id, rank, op, {}});
      }
    }
    fixture.Commit(records);
  }
  const Table plain = fixture(
      "SELECT node, device, op, run, rank FROM results AS r WHERE NOT EXISTS (SELECT 1"
      " FROM results AS n WHERE n.node = r.node AND n.device = r.device AND n.op = r.op"
      " AND (n.run > r.run OR (n.run = r.run AND n.rank > r.rank))) ORDER BY 1, 2, 3",
      5);
  CHECK(plain.size() > 20);
  CHECK(fixture("SELECT node, device, op, run, rank FROM latest ORDER BY 1, 2, 3", 5) == plain);
}

TEST_CASE("run_progress counts ranks, the same before and after the run is closed") {
  Fixture fixture;
  fixture.Run(3, "job-a");
  fixture.Answer(3, 0, Op::kAic, OutcomeCode::kOk);
  fixture.Answer(3, 0, Op::kP2p, OutcomeCode::kFaulty);
  fixture.Answer(3, 1, Op::kAic, OutcomeCode::kVoltageNotRestored);
  fixture.Answer(3, 2, Op::kAic, OutcomeCode::kFaulty);
  fixture.Answer(3, 2, Op::kP2p, OutcomeCode::kFaulty);
  const std::string sql =
      "SELECT run, job, executor, ranks, answered, faulty, started, deadline FROM run_progress";
  const Table expected = {{"3", "job-a", "agent", "4", "2", "3", "2023-11-14T22:13:20.000Z",
                           "2023-11-14T22:28:20.123Z"}};
  CHECK(fixture(sql, 8) == expected);
  RunHeader header = fixture.store->Load()->runs.at(3);
  header.state = RunState::kClosed;
  fixture.Commit({PutRunHeader{header}});
  CHECK(fixture(sql, 8) == expected);
  CHECK(fixture("SELECT state FROM run_progress", 1) == Table{{"closed"}});
  CHECK(fixture("SELECT answered_ranks, ok, faulty, voltage_not_restored FROM runs", 4) ==
        Table{{"2", "1", "3", "1"}});
}

TEST_CASE("faulty lists suspect devices, since when and why") {
  Fixture fixture;
  for (RunId run = 1; run <= 4; ++run) fixture.Run(run, "job-" + std::to_string(run));
  const auto faulty = [&] {
    return fixture(
        "SELECT node, device, op, outcome, since, why, run, job, rank FROM faulty"
        " ORDER BY node, device, op",
        9);
  };
  CHECK(faulty().empty());
  fixture.Answer(1, 3, Op::kAic, OutcomeCode::kOk);
  fixture.Answer(2, 3, Op::kAic, OutcomeCode::kFaulty, "first", 1'700'000'001'000);
  fixture.Answer(2, 1, Op::kP2p, OutcomeCode::kVoltageNotRestored, "volt", 1'700'000'002'000);
  fixture.Answer(2, 0, Op::kAic, OutcomeCode::kTimeout);
  const std::vector<std::string> volt = {
      "n1", "1",     "p2p", "voltage_not_restored", "2023-11-14T22:13:22.000Z", "volt",
      "2",  "job-2", "1"};
  const std::string since = "2023-11-14T22:13:21.000Z";
  CHECK(faulty() == Table{volt, {"n2", "1", "aic", "faulty", since, "first", "2", "job-2", "3"}});
  // Tested again with the same outcome: the row names the new run and the time of the first one.
  fixture.Answer(3, 3, Op::kAic, OutcomeCode::kFaulty, "again", 1'700'000'009'000);
  CHECK(faulty() == Table{volt, {"n2", "1", "aic", "faulty", since, "again", "3", "job-3", "3"}});
  // not_run and timeout are no evidence about the hardware.
  fixture.Answer(4, 3, Op::kAic, OutcomeCode::kNotRun);
  fixture.Answer(3, 1, Op::kP2p, OutcomeCode::kTimeout);
  CHECK(faulty().size() == 2);
  // An ok outcome is: it ends the suspicion.
  fixture.Answer(4, 1, Op::kP2p, OutcomeCode::kOk);
  CHECK(faulty() == Table{{"n2", "1", "aic", "faulty", since, "again", "3", "job-3", "3"}});
}

// The views name codes by number; the core decides what the codes mean.
TEST_CASE("the views agree with the core on which outcomes are faults and verdicts") {
  for (int number = 0; number < kOutcomeCodes; ++number) {
    const auto code = static_cast<OutcomeCode>(number);
    CAPTURE(number);
    Fixture fixture;
    fixture.Run(1, "job-a");
    fixture.Answer(1, 0, Op::kAic, code);
    CHECK(fixture("SELECT 1 FROM faulty", 1).size() == (IsFault(code) ? 1 : 0));
    CHECK(fixture("SELECT faulty FROM run_progress", 1) == Table{{IsFault(code) ? "1" : "0"}});
    // The same device again: only a verdict replaces an earlier fault.
    fixture.Answer(1, 1, Op::kAic, OutcomeCode::kFaulty);
    fixture.Run(2, "job-b");
    fixture.Answer(2, 1, Op::kAic, code);
    CHECK(fixture("SELECT 1 FROM faulty WHERE run = 1 AND rank = 1", 1).empty() == IsVerdict(code));
    for (RunId run = 1; run <= 2; ++run) {
      RunHeader header = fixture.store->Load()->runs.at(run);
      const std::string sql = "SELECT answered, faulty FROM run_progress ORDER BY run";
      const Table open = fixture(sql, 2);
      header.state = RunState::kClosed;
      fixture.Commit({PutRunHeader{header}});
      CHECK(fixture(sql, 2) == open);
    }
  }
}

TEST_CASE("the views of a large database use its indexes") {
  Fixture fixture;
  for (const char* sql : {"SELECT * FROM results WHERE node = 'n1'",
                          "SELECT * FROM results WHERE run = 1", "SELECT * FROM latest",
                          "SELECT * FROM faulty", "SELECT * FROM run_progress WHERE run = 1"}) {
    CAPTURE(sql);
    for (const auto& row : fixture(std::string("EXPLAIN QUERY PLAN ") + sql, 4)) {
      CAPTURE(row[3]);
      // A scan of a table reads all of it; partial indexes and the steps of a WITH are small.
      const bool scans_table =
          std::regex_search(row[3], std::regex("^SCAN (o|k|r|outcomes|run_ranks|runs)$"));
      CHECK_FALSE(scans_table);
    }
  }
}

TEST_CASE("UtcText") {
  CHECK(UtcText(0) == "1970-01-01T00:00:00.000Z");
  CHECK(UtcText(1'700'000'000'001) == "2023-11-14T22:13:20.001Z");
  CHECK(UtcText(-1) == "1969-12-31T23:59:59.999Z");
  CHECK(UtcText(std::numeric_limits<Ms>::max()) == "9999-12-31T23:59:59.999Z");
  CHECK(UtcText(std::numeric_limits<Ms>::min()) == "0000-01-01T00:00:00.000Z");
}
