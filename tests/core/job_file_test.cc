// Files of the jobs directory: how one is read, and how the cluster applies it.
#include "core/job_file.h"

#include <catch2/catch.hpp>

#include "base/text.h"
#include "tests/support/cluster_world.h"

using namespace assay::core;
using namespace assay::rank_table;
using namespace assay::support;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

// Replaces single quotes with double quotes.
std::string Quotes(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

// A rank table of one rank, with the members `more` before its server_list.
std::string Table(const std::string& more, const std::string& status = "complete") {
  return Quotes("{'status':'" + status + "',\n" + more +
                "\n'server_list':[{'server_name':'a','server_id':'192.0.2.1',"
                "'device':[{'device_id':'0','rank_id':'0'}]}]}");
}

JobFileReading Read(const std::string& text) { return ReadJobFile("j", text, "/jobs/j.json"); }

}  // namespace

TEST_CASE("a job stores the text that its table was read from, with the corrections") {
  const std::string table = Table("'assay':{'name':'n'},");
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("\"\n", at)) != std::string::npos; at += 2) {
      text.replace(at, 1, text[at] == '"' ? "\\\"" : "\\n");
    }
    return '"' + text + '"';
  };
  const std::string map = R"({"kind":"ConfigMap","data":{"hccl.json":)" + quoted(table) + "}}";
  const JobFileReading wrapped = Read(map);
  REQUIRE(wrapped.verdict == JobFileVerdict::kTake);
  CHECK(wrapped.job.table_text == table);
  CHECK(*wrapped.job.hccl == *Read(table).job.hccl);
  CHECK(wrapped.job.spec.name == "n");
  CHECK(wrapped.job.file == Fingerprint(map));
  CHECK(wrapped.warnings.size() == 1);

  std::string pasted = table;
  pasted.replace(pasted.find("192.0.2.1"), 9, "192.0.2.1 ");
  CHECK(Read(pasted).job.table_text == table);
  CHECK(*Read(pasted).job.hccl == *Read(table).job.hccl);

  const JobFileReading early =
      Read(R"({"kind":"ConfigMap","data":{"hccl.json":"{\"status\":\"initializing\"}"}})");
  REQUIRE(early.verdict == JobFileVerdict::kTake);
  CHECK(early.job.state == JobState::kPending);
  CHECK(early.job.table_text.empty());
}

TEST_CASE("a plain rank table is a running job") {
  for (const char* status : {"complete", "completed"}) {
    const JobFileReading reading = Read(Table("", status));
    REQUIRE(reading.verdict == JobFileVerdict::kTake);
    CHECK(reading.error.empty());
    CHECK(reading.job.spec == JobSpec{"j", "", "", "", "", ""});
    CHECK(reading.job.state == JobState::kRunning);
    CHECK(reading.job.table_text == Table("", status));
    REQUIRE(reading.job.table->ranks.size() == 1);
    CHECK(reading.job.file == Fingerprint(Table("", status)));
    CHECK_THAT(*reading.job.hccl, StartsWith("{\"status\":\"complete\",\"server_list\":"));
  }
}

TEST_CASE("a table in status initializing is a pending job") {
  const JobFileReading reading =
      Read(Quotes("{'assay':{'name':'n'},'status':'initializing','server_list':7}"));
  REQUIRE(reading.verdict == JobFileVerdict::kTake);
  CHECK(reading.job.state == JobState::kPending);
  CHECK(reading.job.spec.name == "n");
  CHECK(reading.job.table_text.empty());
  CHECK(reading.job.table->ranks.empty());
  CHECK(*reading.job.hccl == "{\"status\":\"initializing\"}");
}

TEST_CASE("the object `assay` sets name, namespace, framework and addresses of the job") {
  const JobFileReading reading =
      Read(Table("'assay':{'name':'Na\\u0041','namespace':'ns','framework':'pytorch',"
                 "'masterAddr':'192.0.2.9','sharedTorIp':'192.0.2.8'},"));
  REQUIRE(reading.verdict == JobFileVerdict::kTake);
  CHECK(reading.job.spec == JobSpec{"j", "NaA", "ns", "pytorch", "192.0.2.9", "192.0.2.8"});
  CHECK_THAT(*reading.job.hccl, !Contains("assay"));
  for (const char* nothing : {"'assay':null,", "'assay':{},", "'assay':{'name':null},"}) {
    CHECK(Read(Table(nothing)).job.spec == JobSpec{"j", "", "", "", "", ""});
  }
}

TEST_CASE("an error names file, line and value") {
  const std::pair<std::string, std::string> wrong[] = {
      {"'assay':'x',", "line 2: assay is a string, not an object"},
      {"'assay':[],", "line 2: assay is an array, not an object"},
      {"'assay':{'name':'n',\n'nam':1},",
       "line 3: assay.nam is not a known field; known fields are name, namespace, framework, "
       "masterAddr, "
       "sharedTorIp"},
      {"'assay':{\n\n'masterAddr':17},", "line 4: assay.masterAddr is 17, not a string"},
      {"'assay':{'name':{}},", "line 2: assay.name is an object, not a string"},
      {"'assay':{'name':'a\\nb'},", "line 2: assay.name contains control characters: \"a\\nb\""},
      {"'assay':{'name':'" + std::string(1025, 'n') + "'},",
       "line 2: assay.name is 1025 bytes long; the limit is 1024"},
  };
  for (const auto& [more, error] : wrong) {
    const JobFileReading reading = Read(Table(more));
    CHECK(reading.verdict == JobFileVerdict::kBroken);
    CHECK(reading.error == "/jobs/j.json: " + error);
  }
  CHECK(Read(Table("'server_count':2,")).error ==
        "/jobs/j.json: line 2: server_count is 2 but server_list has 1 entry");
  CHECK(Read("[]").verdict == JobFileVerdict::kBroken);
}

TEST_CASE("a file truncated anywhere is unfinished, not broken") {
  const std::string whole = Table("'assay':{'name':'\\u00e4'},");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const JobFileReading reading = Read(whole.substr(0, size));
    INFO(size);
    CHECK(reading.verdict == JobFileVerdict::kUnfinished);
    CHECK_THAT(reading.error, StartsWith("/jobs/j.json: "));
  }
}

TEST_CASE("fingerprints of different contents differ") {
  CHECK(Fingerprint("") == "0-cbf29ce484222325");
  CHECK(Fingerprint("a") == "1-af63dc4c8601ec8c");
  CHECK(Fingerprint("ab") != Fingerprint("ba"));
}

// --- How the cluster applies files ---

namespace {

struct Files : World {
  Answer File(const std::string& job, const std::string& print, JobState state,
              std::vector<int> devices = {0, 1}) {
    JobApplied applied;
    applied.call = NextId();
    applied.spec.id = job;
    applied.table_text = state == JobState::kPending ? "" : "text " + print;
    applied.table = state == JobState::kPending ? std::make_shared<const RankTable>()
                                                : MakeTable({{"a", std::move(devices)}});
    applied.hccl = std::make_shared<const std::string>("hccl " + print);
    applied.file = print;
    applied.state = state;
    return Last(Step(applied));
  }
  Answer Gone(const std::string& job) { return Last(Step(JobFileGone{NextId(), {}, job})); }
  Answer List(std::vector<std::string> jobs) {
    return Last(Step(JobFilesListed{NextId(), {}, std::move(jobs)}));
  }
  Answer Delete(const std::string& job) { return Last(Step(JobDeleted{NextId(), {}, job})); }
  Answer State(const std::string& job, JobState state) {
    return Last(Step(JobStateSet{NextId(), {}, job, state}));
  }
  bool Has(const std::string& job) const { return durable().jobs.contains(job); }
  JobState StateOf(const std::string& job) const { return durable().jobs.at(job).state; }

 private:
  static Answer Last(const Output& out) {
    for (const Effect& effect : out.effects) {
      if (const auto* answer = std::get_if<Answer>(&effect)) return *answer;
    }
    FAIL("no answer");
    return {};
  }
};

}  // namespace

TEST_CASE("a job is created, changed and deleted with its file") {
  Files world;
  CHECK(world.File("j", "1", JobState::kPending).changed);
  CHECK(world.StateOf("j") == JobState::kPending);
  CHECK(world.File("j", "2", JobState::kRunning).changed);
  CHECK(world.StateOf("j") == JobState::kRunning);
  CHECK(world.durable().jobs.at("j").table->ranks.size() == 2);
  CHECK(world.Gone("j").changed);
  CHECK(!world.Has("j"));
  CHECK(world.durable().job_files.empty());
  CHECK(world.Gone("j").verdict == Verdict::kAccepted);
  CHECK(world.File("j", "2", JobState::kRunning).changed);
}

TEST_CASE("an already applied content does not undo later changes") {
  Files world;
  world.File("j", "1", JobState::kRunning);
  world.State("j", JobState::kComplete);
  for (int again = 0; again < 2; ++again) {
    const Answer answer = world.File("j", "1", JobState::kRunning);
    CHECK(answer.verdict == Verdict::kAccepted);
    CHECK(!answer.changed);
    CHECK(world.StateOf("j") == JobState::kComplete);
    world.Restart();
  }
  CHECK(world.File("j", "2", JobState::kRunning).changed);
  CHECK(world.StateOf("j") == JobState::kRunning);
}

TEST_CASE("a deleted job is not applied again until its file changes") {
  Files world;
  world.File("j", "1", JobState::kRunning);
  const Answer deleted = world.Delete("j");
  CHECK(deleted.verdict == Verdict::kAccepted);
  CHECK(deleted.text ==
        "its file still exists in the jobs directory; the job is applied again if that changes");
  world.Restart();
  CHECK(!world.File("j", "1", JobState::kRunning).changed);
  CHECK(!world.Has("j"));
  CHECK(world.List({"j"}).verdict == Verdict::kAccepted);
  CHECK(world.File("j", "2", JobState::kRunning).changed);
  CHECK(world.Has("j"));
  // A file that is removed and created again with the same content is a change as well.
  world.Delete("j");
  CHECK(!world.Gone("j").changed);
  CHECK(world.File("j", "2", JobState::kRunning).changed);
  CHECK(world.Delete("j").verdict == Verdict::kAccepted);
  CHECK(world.Delete("j").verdict == Verdict::kUnknownJob);
}

TEST_CASE("a job last applied by other means is not deleted with its file") {
  Files world;
  world.Apply("hand", MakeTable({{"a", {0}}}));
  CHECK(world.List({}).verdict == Verdict::kAccepted);
  CHECK(!world.Gone("hand").changed);
  CHECK(world.Has("hand"));

  world.File("j", "1", JobState::kRunning);
  world.Apply("j", MakeTable({{"a", {2}}}));
  CHECK(world.durable().jobs.at("j").table->ranks.size() == 1);
  CHECK(!world.File("j", "1", JobState::kRunning).changed);
  CHECK(world.durable().jobs.at("j").table->ranks.size() == 1);
  CHECK(!world.Gone("j").changed);
  CHECK(world.Has("j"));

  world.File("j", "1", JobState::kRunning);
  CHECK(world.durable().jobs.at("j").table->ranks.size() == 2);
  CHECK(world.Gone("j").changed);
  CHECK(!world.Has("j"));
}

TEST_CASE("jobs whose files were removed while the coordinator was down are deleted") {
  Files world;
  for (const char* job : {"a", "b", "c"}) world.File(job, "1", JobState::kPending);
  world.Apply("hand", MakeTable({{"a", {0}}}));
  world.Delete("c");
  world.Restart();
  const Answer listed = world.List({"b", "x"});
  CHECK(listed.verdict == Verdict::kAccepted);
  CHECK(listed.changed);
  CHECK(!world.Has("a"));
  CHECK(world.Has("b"));
  CHECK(world.Has("hand"));
  CHECK(world.durable().job_files.size() == 1);
  CHECK(!world.List({"b", "x"}).changed);
}

TEST_CASE("during a run the job's table cannot change and the job is not deleted") {
  Files world;
  const LinkId link = world.Attach("a");
  world.File("j", "1", JobState::kRunning);
  world.File("other", "1", JobState::kPending);
  const RunId run = world.Stress("j").run;
  REQUIRE(run != kNoRun);
  world.Say(link, Ready{run});
  const Answer changed = world.File("j", "2", JobState::kRunning, {0, 1, 2});
  CHECK(changed.verdict == Verdict::kBusy);
  CHECK_THAT(changed.text, Contains("is under test in run 1"));
  CHECK(world.Gone("j").verdict == Verdict::kBusy);
  const Answer listed = world.List({});
  CHECK(listed.verdict == Verdict::kBusy);
  CHECK_THAT(listed.text, Contains("j;"));
  CHECK(!world.Has("other"));
  CHECK(world.Has("j"));
  CHECK(world.durable().job_files.at("j") == JobFile{"1", true});
  for (const int rank : {0, 1}) {
    world.Answered(link, run, rank, Op::kAic);
    world.Answered(link, run, rank, Op::kP2p);
  }
  REQUIRE(world.RunOf(run).state == RunState::kClosed);
  CHECK(world.File("j", "2", JobState::kRunning, {0, 1, 2}).changed);
  CHECK(world.durable().jobs.at("j").table->ranks.size() == 3);
  CHECK(world.List({}).changed);
  CHECK(!world.Has("j"));
}
