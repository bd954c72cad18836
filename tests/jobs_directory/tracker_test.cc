#include "jobs_directory/tracker.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace assay::core;
using namespace assay::jobs_directory;
using Catch::Matchers::Contains;

namespace {

// A rank table whose number of ranks identifies a version of the file; 0: no ranks yet.
std::string Table(int ranks) {
  if (ranks == 0) return "{\"status\":\"initializing\"}";
  std::string text = R"({"status":"complete","server_list":[{"server_id":"a","device":[)";
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string id = '"' + std::to_string(rank) + '"';
    text += (rank > 0 ? "," : "") + (R"({"device_id":)" + id) + R"(,"rank_id":)" + id + "}";
  }
  return text + "]}]}";
}

constexpr char kBroken[] = R"({"status":"complete","server_list":[]})";

// A JobFileDesk with a simulated directory and clock.
struct Room {
  explicit Room(const JobFileDesk::Limits& limits = {}) : desk("/jobs", limits) {}

  FileFound Look(const std::string& job) const {
    const auto file = files.find(job);
    if (file == files.end()) return {};
    return {FileFound::Kind::kText, StampOf(job), file->second};
  }
  FileStamp StampOf(const std::string& job) const {
    FileStamp stamp;
    stamp.inode = stamps.at(job);
    return stamp;
  }
  void Write(const std::string& job, const std::string& text) {
    files[job] = text;
    stamps[job] = ++last_stamp;
  }
  void Remove(const std::string& job) {
    files.erase(job);
    stamps.erase(job);
  }
  void Scan() {
    std::vector<FileSeen> seen;
    for (const auto& [job, text] : files) seen.push_back({job, StampOf(job)});
    desk.Scanned(seen, now);
  }
  // Reads the files that are due; returns the resulting events by job.
  std::map<std::string, Event> Work() {
    Collect();
    std::map<std::string, Event> events;
    if (auto listing = desk.Listing(now)) events.emplace("", *std::move(listing));
    while (const auto job = desk.Next(now)) {
      if (auto event = desk.Looked(*job, Look(*job), now)) events.emplace(*job, *std::move(event));
    }
    return events;
  }
  // Advances the clock until Work() returns an event, by at most `ms`.
  std::map<std::string, Event> WorkFor(Ms ms) {
    std::map<std::string, Event> events = Work();
    for (const Ms end = now + ms; events.empty();) {
      const auto due = desk.NextDue();
      if (!due || *due > end) break;
      now = std::max(now, *due);
      events = Work();
    }
    return events;
  }
  void Answer(const std::string& job, Verdict verdict = Verdict::kAccepted, bool changed = true,
              const std::string& text = "") {
    assay::core::Answer answer;
    answer.verdict = verdict;
    answer.changed = changed;
    answer.text = text;
    desk.Answered(job, answer, now);
  }
  // Handles the first scan, its listing and its orders.
  void Begin() {
    Scan();
    auto events = Work();
    REQUIRE(events.contains(""));
    Answer("", Verdict::kAccepted, false);
    for (const auto& [job, event] : events) {
      if (!job.empty()) Answer(job);
    }
    Said(1'000);
  }
  void Collect() {
    for (const JobFileDesk::Line& line : desk.TakeLines(now)) lines += line.text + "\n";
  }
  // The log lines since the last call. After a second (`patience`) they include the summary.
  std::string Said(Ms patience = 0) {
    now += patience;
    Collect();
    return std::exchange(lines, {});
  }
  // True: nothing becomes due, however long the test waits.
  bool Rests() {
    now += 1'000;
    Collect();
    return !desk.NextDue();
  }

  JobFileDesk desk;
  std::string lines;
  std::map<std::string, std::string> files;
  std::map<std::string, std::uint64_t> stamps;
  std::uint64_t last_stamp = 0;
  Ms now = 1000;
};

const JobApplied& Applied(const std::map<std::string, Event>& events, const std::string& job) {
  REQUIRE(events.contains(job));
  REQUIRE(std::holds_alternative<JobApplied>(events.at(job)));
  return std::get<JobApplied>(events.at(job));
}

}  // namespace

TEST_CASE("at the start the cluster gets the list of files and their contents") {
  Room room;
  room.Write("a", Table(1));
  room.Write("b", Table(0));
  room.Scan();
  const auto events = room.Work();
  REQUIRE(events.size() == 3);
  CHECK(std::get<JobFilesListed>(events.at("")).jobs == std::vector<std::string>{"a", "b"});
  CHECK(Applied(events, "a").state == JobState::kRunning);
  CHECK(Applied(events, "b").state == JobState::kPending);
  CHECK(room.desk.under_way() == 3);
  room.Answer("", Verdict::kAccepted, false);
  room.Answer("a");
  room.Answer("b", Verdict::kAccepted, false);
  CHECK(room.desk.under_way() == 0);
  CHECK(room.Said(1'000) == "jobs directory /jobs: 1 job applied\n");
  // Unchanged files are not read.
  room.Scan();
  CHECK(room.Rests());
  CHECK(room.Work().empty());
}

TEST_CASE("a table that is too large for the job's signals is logged once") {
  Room room;
  room.Begin();
  const std::string table = Table(1);
  const std::string note = R"({"note":")" + std::string(5u << 20, 'x') + R"(",)";
  std::string text = table;
  text.replace(text.find(R"({"server_id")"), 1, note);
  room.Write("a", text);
  room.desk.Noticed("a", room.now, 0);
  CHECK(Applied(room.WorkFor(1'000), "a").state == JobState::kRunning);
  room.Answer("a");
  CHECK_THAT(room.Said(), Contains("a.json: the job's signals omit HcclJson"));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(1'000).empty());
  CHECK_THAT(room.Said(), !Contains("HcclJson"));
}

TEST_CASE("a change is posted once") {
  Room room;
  room.Write("a", Table(1));
  room.Begin();
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.Work().empty());
  room.Write("a", Table(2));
  room.desk.Noticed("a", room.now, 200);
  CHECK(room.Work().empty());
  CHECK(Applied(room.WorkFor(200), "a").table->ranks.size() == 2);
  // It changes twice meanwhile: the content at the time of the answer is posted.
  room.Write("a", Table(3));
  room.desk.Noticed("a", room.now, 0);
  room.Write("a", Table(4));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.Work().empty());
  room.Answer("a");
  CHECK(Applied(room.Work(), "a").table->ranks.size() == 4);
  room.Answer("a");
  CHECK(room.Work().empty());
  CHECK(room.Rests());
}

TEST_CASE("a half-written file is read again, and logged once it stays unchanged") {
  Room room;
  room.Begin();
  const std::string whole = Table(3);
  room.Write("a", whole.substr(0, 30));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(5'000).empty());
  CHECK(room.Said().empty());
  CHECK(room.desk.NextDue().has_value());
  // It grew: the wait starts again.
  room.Write("a", whole.substr(0, 40));
  CHECK(room.WorkFor(9'000).empty());
  CHECK(room.Said().empty());
  CHECK(room.WorkFor(20'000).empty());
  const std::string said = room.Said();
  CHECK_THAT(said, Contains("/jobs/a.json: unexpected end of file at offset 40"));
  CHECK_THAT(said, Contains("the file is read again when it changes"));
  CHECK(room.Rests());
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(20'000).empty());
  CHECK(room.Said().empty());
  room.Write("a", whole);
  room.desk.Noticed("a", room.now, 0);
  CHECK(Applied(room.Work(), "a").table->ranks.size() == 3);
  room.Answer("a");
  // A new problem after a good content is logged again.
  room.Write("a", "");
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(20'000).empty());
  CHECK_THAT(room.Said(), Contains("/jobs/a.json: file is empty"));
}

TEST_CASE("a half-written file that is completed without a notice is found") {
  Room room;
  room.Begin();
  const std::string whole = Table(3);
  room.Write("a", whole.substr(0, 30));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(3'000).empty());
  room.Write("a", whole);
  CHECK(Applied(room.WorkFor(5'000), "a").table->ranks.size() == 3);
}

TEST_CASE("an invalid file is logged soon, and its job stays unchanged") {
  Room room;
  room.Write("a", Table(1));
  room.Begin();
  room.Write("a", kBroken);
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(2'000).empty());
  CHECK_THAT(room.Said(), Contains("/jobs/a.json: line 1: server_list is empty"));
  room.Write("a", Table(1));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.Work().empty());  // the content that was applied before
}

TEST_CASE("the job of a removed file is deleted after a grace time only") {
  Room room;
  room.Write("a", Table(1));
  room.Begin();
  room.Remove("a");
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(500).empty());
  room.Write("a", Table(1));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(5'000).empty());

  room.Remove("a");
  room.Scan();
  auto events = room.WorkFor(5'000);
  REQUIRE(events.contains("a"));
  CHECK(std::get<JobFileGone>(events.at("a")).job == "a");
  // The file exists again before the answer.
  room.Write("a", Table(1));
  room.desk.Noticed("a", room.now, 0);
  room.Answer("a");
  CHECK(Applied(room.Work(), "a").table->ranks.size() == 1);
  room.Answer("a");
  CHECK(room.Said(1'000) == "jobs directory /jobs: 1 job applied, 1 job deleted\n");

  room.Remove("a");
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.WorkFor(5'000).contains("a"));
  room.Answer("a");
  CHECK(room.Rests());
  room.Scan();
  CHECK(room.Rests());
}

TEST_CASE("a change refused because of a run is logged once and retried until the run has ended") {
  Room room;
  room.Write("a", Table(1));
  room.Begin();
  room.Write("a", Table(2));
  room.desk.Noticed("a", room.now, 0);
  CHECK(room.Work().contains("a"));
  room.Answer("a", Verdict::kBusy, false, "job \"a\" is under test in run 1");
  CHECK(room.Said() ==
        "/jobs/a.json: job \"a\" is under test in run 1; the file is applied when the run has "
        "ended\n");
  room.Write("a", Table(5));  // without a notice: the newest content counts
  CHECK(Applied(room.WorkFor(5'000), "a").table->ranks.size() == 5);
  room.Answer("a", Verdict::kBusy, false, "job \"a\" is under test in run 1");
  CHECK(room.Said().empty());
  CHECK(room.WorkFor(5'000).contains("a"));
  room.Answer("a");

  room.Remove("a");
  room.desk.Noticed("a", room.now, 0);
  for (int times = 0; times < 3; ++times) {
    CHECK(std::holds_alternative<JobFileGone>(room.WorkFor(5'000).at("a")));
    room.Answer("a", Verdict::kBusy, false, "job \"a\" is under test in run 2");
  }
  CHECK(std::holds_alternative<JobFileGone>(room.WorkFor(5'000).at("a")));
  room.Answer("a");
  const std::string said = room.Said();
  CHECK_THAT(said, Contains("/jobs/a.json was removed, but job \"a\" is under test in run 2\n"));
  CHECK(said.find("run 2") == said.rfind("run 2"));
  CHECK(room.Rests());
}

TEST_CASE("a file that the cluster refuses for good is logged once") {
  Room room;
  room.Write("a", Table(1));
  room.Scan();
  CHECK(room.Work().size() == 2);
  room.Answer("", Verdict::kAccepted, false);
  room.Answer("a", Verdict::kBadParameter, false, "no");
  CHECK(room.Said() == "/jobs/a.json: refused: no\n");
  CHECK(room.Rests());
}

TEST_CASE("events that the cluster cannot store are posted again") {
  Room room;
  room.Write("a", Table(1));
  room.Scan();
  for (int times = 0; times < 3; ++times) {
    const auto events = room.WorkFor(5'000);
    for (const auto& [job, event] : events) room.desk.Failed(job, room.now);
    // Nothing else is posted during the pause either.
    room.Write("b", Table(static_cast<int>(times)));
    room.desk.Noticed("b", room.now, 0);
    CHECK(room.Work().empty());
    CHECK(events.contains(""));
    CHECK(events.contains("a"));
  }
  CHECK(room.Said().empty());
  room.WorkFor(5'000);
  room.Answer("", Verdict::kBusy, false, "j is under test");
  room.Answer("a");
  room.Answer("b", Verdict::kAccepted, false);
  CHECK_THAT(room.Said(), Contains("jobs directory /jobs: j is under test\n"));
  room.WorkFor(5'000);
  room.Answer("", Verdict::kBusy, false, "j is under test");
  CHECK(room.Said(1'000) == "jobs directory /jobs: 1 job applied\n");
  room.WorkFor(5'000);
  room.Answer("", Verdict::kAccepted, true);
  CHECK(room.Said(1'000) == "jobs directory /jobs: 1 job deleted\n");
}

TEST_CASE("a file that cannot be read is logged once and retried") {
  Room room;
  room.Begin();
  room.Write("a", Table(1));
  room.desk.Noticed("a", room.now, 0);
  for (int times = 0; times < 3; ++times) {
    while (!room.desk.Next(room.now)) room.now = *room.desk.NextDue();
    CHECK(!room.desk.Looked("a", {FileFound::Kind::kUnreadable, {}, "cannot be opened: no"},
                            room.now));
    CHECK(room.Said() == (times == 0 ? "/jobs/a.json: cannot be opened: no\n" : ""));
  }
  CHECK(Applied(room.WorkFor(20'000), "a").table->ranks.size() == 1);
}

TEST_CASE("the orders in progress are limited by number and by bytes") {
  JobFileDesk::Limits limits;
  limits.orders = 3;
  limits.files = 10;
  Room room(limits);
  room.Scan();
  CHECK(room.Work().size() == 1);
  room.Answer("", Verdict::kAccepted, false);
  for (char job = 'a'; job < 'a' + 12; ++job) room.Write(std::string(1, job), Table(1));
  room.Scan();
  std::vector<std::string> told;
  std::size_t all = 0;
  const auto work = [&] {
    for (const auto& [job, event] : room.Work()) told.push_back(job);
    CHECK(told.size() <= 3);
  };
  for (work(); !told.empty(); work()) {
    room.Answer(told.back());
    told.pop_back();
    ++all;
  }
  CHECK(all == 10);
  CHECK_THAT(room.Said(), Contains("/jobs/k.json: ignored, as are all later files: the jobs "
                                   "directory has more than 10 files"));

  limits.order_bytes = Table(1).size() + 1;
  Room narrow(limits);
  narrow.Scan();
  narrow.Work();
  narrow.Answer("", Verdict::kAccepted, false);
  for (const char* job : {"a", "b", "c"}) narrow.Write(job, Table(1));
  narrow.Scan();
  CHECK(narrow.Work().size() == 2);
  narrow.Answer("a");
  narrow.Answer("b");
  CHECK(narrow.Work().size() == 1);
}

// Random changes of files, answers in random order and random refusals: in the end the cluster's
// jobs match the files.
TEST_CASE("after random changes and failures the cluster's jobs match the directory") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    JobFileDesk::Limits limits;
    limits.orders = 1 + below(4);
    Room room(limits);
    std::map<std::string, std::size_t> cluster;  // job -> ranks
    std::map<std::string, Event> told;
    room.Scan();
    const auto work = [&] {
      for (auto& [job, event] : room.Work()) REQUIRE(told.emplace(job, std::move(event)).second);
    };
    const auto answer = [&](bool well) {
      if (told.empty()) return;
      auto one = std::next(told.begin(), static_cast<std::ptrdiff_t>(below(told.size())));
      const std::string job = one->first;
      const Event event = std::move(one->second);
      told.erase(one);
      if (!well && below(3) == 0) return room.desk.Failed(job, room.now);
      if (!well && below(3) == 0) return room.Answer(job, Verdict::kBusy, false, "busy");
      if (const auto* applied = std::get_if<JobApplied>(&event)) {
        cluster[job] = applied->table->ranks.size();
      } else if (std::holds_alternative<JobFileGone>(event)) {
        cluster.erase(job);
      }
      room.Answer(job);
    };
    for (int step = 0; step < 200; ++step) {
      const std::string job(1, static_cast<char>('a' + below(4)));
      const bool notice = below(10) > 0;
      switch (below(8)) {
        case 0:
        case 1:
          room.Write(job, Table(static_cast<int>(below(5))));
          if (notice) room.desk.Noticed(job, room.now, 0);
          break;
        case 2:
          room.Write(job, below(2) == 0 ? Table(3).substr(0, below(40)) : kBroken);
          if (notice) room.desk.Noticed(job, room.now, 0);
          break;
        case 3:
          room.Remove(job);
          if (notice) room.desk.Noticed(job, room.now, 0);
          break;
        case 4:
          room.Scan();
          break;
        case 5:
          room.now += static_cast<Ms>(below(3'000));
          break;
        case 6:
          answer(false);
          break;
        default:
          work();
      }
      room.Said();
    }
    // Replace incomplete and invalid files, then run until nothing is due.
    for (auto& [job, text] : room.files) {
      if (text != Table(0) && (text == kBroken || text.size() < 40)) room.Write(job, Table(4));
    }
    for (int rounds = 0; rounds < 60; ++rounds) {
      if (rounds % 10 == 0) room.Scan();
      work();
      while (!told.empty()) answer(true);
      room.now += 1'000;
    }
    CHECK(room.Rests());
    CHECK(room.desk.under_way() == 0);
    std::map<std::string, std::size_t> held;
    for (const auto& [job, text] : room.files) {
      std::size_t ranks = 0;
      while (ranks < 5 && Table(static_cast<int>(ranks)) != text) ++ranks;
      held[job] = ranks;
    }
    REQUIRE(cluster == held);
  }
}
