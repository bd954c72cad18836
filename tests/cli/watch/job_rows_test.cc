#include "cli/watch/job_rows.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/watch/job_feed.h"

namespace assay::cli::watch {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000;

job::JobSummarySignal Signal(const std::string& id, const std::string& state,
                             std::int64_t ago_s = 100) {
  job::JobSummarySignal signal;
  signal.set_jobid(id);
  signal.set_jobname("name of " + id);
  signal.set_jobstatus(state);
  signal.set_time(std::to_string(kNow / 1000 - ago_s));
  signal.set_operator_("add");
  signal.set_hccljson(R"({"status":"initializing"})");
  return signal;
}

job::JobSummarySignal Deleted(const std::string& id) {
  job::JobSummarySignal signal = Signal(id, "running");
  signal.set_operator_("delete");
  signal.set_deletetime(std::to_string(kNow / 1000));
  return signal;
}

std::vector<std::string> Texts(const JobRows& rows, std::size_t height = 100,
                               std::size_t width = 200, std::int64_t now = kNow) {
  std::vector<std::string> texts;
  for (const auto& line : rows.Lines(height, width, now)) texts.push_back(line.text);
  return texts;
}

// "a running 100s": the first words of a row.
std::string Row(const std::string& line) {
  std::string words;
  for (const char c : line.substr(0, line.find(" -"))) {
    if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
  }
  return words.substr(0, words.find_last_not_of(' ') + 1);
}

TEST_CASE("the job whose state changed last comes first") {
  JobRows rows;
  rows.Apply(Signal("old", "running", 500), true, kNow);
  rows.Apply(Signal("new", "pending", 100), true, kNow);
  auto texts = Texts(rows);
  REQUIRE(texts.size() == 4);
  CHECK(texts[0] == "2 jobs: 1 pending, 1 running");
  CHECK(texts[1].find("JOB") == 0);
  CHECK(Row(texts[2]) == "new pending 100s");
  CHECK(Row(texts[3]) == "old running 8m");
  rows.Apply(Signal("old", "failed", 500), false, kNow + 1000);
  texts = Texts(rows, 100, 200, kNow + 3000);
  CHECK(Row(texts[2]) == "old failed 2s");
  // A repeated signal is not a change.
  rows.Apply(Signal("old", "failed", 500), false, kNow + 3000);
  CHECK(Texts(rows, 100, 200, kNow + 3000) == texts);
}

TEST_CASE("the counts of ranks and nodes come from the rank table") {
  JobRows rows;
  job::JobSummarySignal signal = Signal("a", "running");
  signal.set_hccljson(R"({"status":"complete","server_count":"2","server_list":[
      {"server_id":"1","server_name":"n1","device":[{"device_id":"0","rank_id":"0"},
       {"device_id":"1","rank_id":"1"}]},
      {"server_id":"2","server_name":"n2","device":[{"device_id":"0","rank_id":"2"}]}]})");
  rows.Apply(signal, true, kNow);
  CHECK(Texts(rows)[2].find("   3      2  name of a") != std::string::npos);
  signal.set_hccljson("");  // too large for a signal
  rows.Apply(signal, false, kNow);
  CHECK(Texts(rows)[2].find("   -      -  name of a") != std::string::npos);
}

TEST_CASE("jobs that do not fit are counted") {
  JobRows rows;
  for (int i = 0; i < 50; ++i)
    rows.Apply(Signal("job-" + std::to_string(i), "running"), true, kNow);
  for (std::size_t height = 0; height < 60; ++height) {
    for (const std::size_t width : {0U, 1U, 20U, 200U}) {
      const auto texts = Texts(rows, height, width);
      CHECK(texts.size() <= height);
      for (const std::string& text : texts) CHECK(base::CharacterCount(text) <= width);
      if (width < 200 || height < 3) continue;
      if (height < 52) {
        CHECK(texts.size() == height);
        CHECK(texts.back() == "... and " + std::to_string(50 - (height - 3)) + " more");
      } else {
        CHECK(texts.size() == 52);
      }
    }
  }
}

TEST_CASE("texts from outside are made printable before they reach the terminal") {
  JobRows rows;
  job::JobSummarySignal signal = Signal("a\x1b[2J", "run\nning");
  signal.set_jobname("caf\xC3\xA9 \xE4\xBB\xBB\xE5\x8A\xA1 \x07");
  rows.Apply(signal, true, kNow);
  for (std::size_t width = 0; width < 100; ++width) {
    for (const std::string& text : Texts(rows, 100, width)) {
      CHECK(text.find_first_of("\x1b\n\x07") == std::string::npos);
      CHECK(base::Shown(text, 1000) == text);  // cut between characters
    }
  }
}

TEST_CASE("a deleted job is shown for kDeletedShownMs") {
  JobRows rows;
  rows.Apply(Deleted("gone before"), true, kNow);
  CHECK(rows.size() == 0);
  rows.Apply(Signal("a", "running"), true, kNow);
  rows.Apply(Deleted("a"), false, kNow);
  CHECK(Texts(rows)[0] == "0 jobs");
  REQUIRE(rows.Lines(100, 200, kNow).size() == 3);
  CHECK(rows.Lines(100, 200, kNow)[2].faint);
  CHECK_FALSE(rows.Fade(kNow + JobRows::kDeletedShownMs - 1));
  CHECK(rows.Fade(kNow + JobRows::kDeletedShownMs));
  CHECK(rows.size() == 0);
  // Deleted and applied again: the job is present.
  rows.Apply(Signal("a", "running"), false, kNow);
  rows.Apply(Deleted("a"), false, kNow);
  rows.Apply(Signal("a", "pending"), false, kNow);
  CHECK_FALSE(rows.Fade(kNow + 10 * JobRows::kDeletedShownMs));
  CHECK(Texts(rows)[0] == "1 job: 1 pending");
}

TEST_CASE("the number of deleted jobs is bounded and the newest remain") {
  JobRows rows;
  rows.Apply(Signal("living", "running"), true, kNow);
  for (std::size_t i = 0; i < 10 * JobRows::kDeletedMax; ++i) {
    rows.Apply(Signal("job-" + std::to_string(i), "running"), false, kNow);
    rows.Apply(Deleted("job-" + std::to_string(i)), false, kNow);
    CHECK(rows.size() <= JobRows::kDeletedMax + 1);
  }
  CHECK(Texts(rows)[0] == "1 job: 1 running");
  CHECK(Row(Texts(rows)[2]).find("job-4999 deleted") == 0);
}

TEST_CASE("a job that is missing in a new snapshot is removed") {
  JobRows rows;
  rows.Apply(Signal("a", "running"), true, kNow);
  rows.Apply(Signal("b", "running"), true, kNow);
  rows.BeginSnapshot();
  CHECK(rows.size() == 2);
  rows.Apply(Signal("b", "running"), true, kNow);
  rows.EndSnapshot();
  CHECK(rows.size() == 1);
  rows.BeginSnapshot();
  rows.EndSnapshot();
  CHECK(rows.size() == 0);
}

TEST_CASE("ages are short") {
  CHECK(AgeText(-5000) == "0s");
  CHECK(AgeText(119'999) == "119s");
  CHECK(AgeText(120'000) == "2m");
  CHECK(AgeText(7'200'000) == "2h");
  CHECK(AgeText(172'800'000) == "2d");
}

job::JobSummarySignalList List(const std::string& time, int signals, int total) {
  job::JobSummarySignalList list;
  list.set_reporttime(time);
  list.set_jobtotalnum(total);
  for (int i = 0; i < signals; ++i) list.add_jobsummarysignals();
  return list;
}

TEST_CASE("a snapshot ends with its last page") {
  SnapshotCount count;
  CHECK_FALSE(count.complete());
  count.Add(List("5", 2, 5));
  count.Add(List("5", 2, 5));
  CHECK_FALSE(count.complete());
  count.Add(List("5", 1, 5));
  CHECK(count.complete());
  SnapshotCount change;
  change.Add(List("5", 1, 1));
  CHECK(change.complete());
  SnapshotCount other;
  other.Add(List("5", 1, 2));
  other.Add(List("6", 1, 1));
  CHECK(other.complete());
}

}  // namespace
}  // namespace assay::cli::watch
