// Checks docs/database.md: its queries run, its tables and columns are exactly those that exist,
// and its event kinds are exactly those that the program writes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "store/sqlite.h"
#include "store/store.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::rank_table;
using namespace assay::store;
using namespace assay::support;

namespace {

const std::string kSource = ASSAY_SOURCE_ROOT;

std::string Text(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

std::vector<std::string> Queries(const std::string& document) {
  std::vector<std::string> queries;
  std::size_t at = 0;
  while ((at = document.find("```sql\n", at)) != std::string::npos) {
    at += 7;
    queries.push_back(document.substr(at, document.find("```", at) - at));
  }
  return queries;
}

// "### `name`" -> the text up to the next heading.
std::map<std::string, std::string> Sections(const std::string& document) {
  std::map<std::string, std::string> sections;
  const std::regex heading("\n### `(\\w+)`\n");
  for (std::sregex_iterator at(document.begin(), document.end(), heading), end; at != end; ++at) {
    const std::string rest = at->suffix();
    sections[(*at)[1]] = rest.substr(0, rest.find("\n#"));
  }
  return sections;
}

std::vector<std::string> FirstColumn(Database& database, const std::string& sql) {
  Result<Statement> statement = Statement::Prepare(database, sql);
  INFO(statement.status().text());
  REQUIRE(statement.ok());
  Rows rows = statement->Query();
  std::vector<std::string> column;
  while (rows.Next()) column.emplace_back(rows.Text(0));
  INFO(rows.status().text());
  REQUIRE(rows.status().ok());
  return column;
}

// Stores a job of two nodes, tested once before and under test now, for which every query returns
// rows.
void Fill(Store& store) {
  auto table = std::make_shared<RankTable>();
  table->nodes = {{"node-1", {}}, {"node-2", {}}};
  auto first = std::make_shared<Run>();
  first->job = "job-1";
  first->rank_count = 8;
  first->expected = 8;
  first->parts = {{"node-1", "node-1", "", PartState::kStarted},
                  {"node-2", "node-2", "", PartState::kStarted}};
  Node node;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    table->ranks.push_back({rank, rank % 4, static_cast<std::uint32_t>(rank / 4)});
    RankTest test;
    test.rank = rank;
    test.device = rank % 4;
    test.part = static_cast<std::uint32_t>(rank / 4);
    test.ops = OpSet(1);
    first->ranks.push_back(test);
    node.devices.push_back({rank, "kind", ""});
  }
  auto second = std::make_shared<Run>(*first);
  first->id = 1;
  second->id = 2;
  second->state = RunState::kTesting;
  node.name = "node-1";
  Job job;
  job.spec.id = "job-1";
  job.table = table;
  job.last_run = 2;
  std::vector<Record> records = {PutJob{job},
                                 PutNode{node},
                                 PutRun{first},
                                 PutRun{second},
                                 PutLease{{"node-1", 0}, 2},
                                 AddEvent{1, "run_accepted", "job-1", 1, "", ""}};
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    records.push_back(PutOutcome{1, rank, Op::kAic, {OutcomeCode::kOk, "", 1, 2}});
  }
  records.push_back(PutOutcome{2, 3, Op::kAic, {OutcomeCode::kFaulty, "why", 1, 2}});
  RunHeader closed = *first;
  closed.state = RunState::kClosed;
  records.push_back(PutRunHeader{closed});
  REQUIRE(store.Commit(records).ok());
}

}  // namespace

TEST_CASE("every documented query runs and returns rows") {
  TempDir dir;
  const auto store = Store::Open(dir / "assay.db").value();
  Fill(*store);
  const auto reader = Database::Open(dir / "assay.db", Database::Access::kReadOnly).value();
  const std::vector<std::string> queries = Queries(Text(kSource + "/docs/database.md"));
  CHECK(queries.size() >= 6);
  for (const std::string& query : queries) {
    CAPTURE(query);
    CHECK_FALSE(FirstColumn(*reader, query).empty());
  }
}

TEST_CASE("the documented tables, views and columns are those of the schema") {
  TempDir dir;
  const auto store = Store::Open(dir / "assay.db").value();
  const auto reader = Database::Open(dir / "assay.db", Database::Access::kReadOnly).value();
  std::map<std::string, std::string> sections = Sections(Text(kSource + "/docs/database.md"));
  const std::vector<std::string> names =
      FirstColumn(*reader,
                  "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT "
                  "LIKE 'sqlite_%'");
  CHECK(names.size() == sections.size());
  for (const std::string& name : names) {
    CAPTURE(name);
    REQUIRE(sections.contains(name));
    for (const std::string& column :
         FirstColumn(*reader, "SELECT name FROM pragma_table_info('" + name + "')")) {
      CAPTURE(column);
      CHECK(sections[name].find('`' + column + '`') != std::string::npos);
    }
  }
}

TEST_CASE("the documented event kinds are those that the program writes") {
  std::set<std::string> written;
  const std::regex note(R"re(\bNote\((?:[^"();]*\?\s*"(\w+)"\s*:)?\s*"(\w+)")re");
  const std::regex loop("event\\.kind = \"(\\w+)\"");  // the control loop's own events
  for (const std::string folder : {"/src/core", "/src/control"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource + folder)) {
      if (entry.path().extension() != ".cc") continue;
      const std::string text = Text(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), note), end; at != end; ++at) {
        written.insert((*at)[2]);
        if ((*at)[1].matched) written.insert((*at)[1]);
      }
      for (std::sregex_iterator at(text.begin(), text.end(), loop), end; at != end; ++at) {
        written.insert((*at)[1]);
      }
    }
  }
  std::set<std::string> documented;
  const std::string section = Sections(Text(kSource + "/docs/database.md"))["events"];
  const std::regex row("\n\\| (`[^|]*) \\|");
  const std::regex kind("`(\\w+)`");
  for (std::sregex_iterator at(section.begin(), section.end(), row), end; at != end; ++at) {
    const std::string cell = (*at)[1];
    for (std::sregex_iterator in(cell.begin(), cell.end(), kind); in != end; ++in) {
      documented.insert((*in)[1]);
    }
  }
  CHECK(written.size() >= 10);
  CHECK(documented == written);
}
