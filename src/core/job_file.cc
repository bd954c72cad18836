#include "core/job_file.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "rank_table/hccl_json.h"
#include "rank_table/json_text.h"

namespace assay::core {
namespace {

constexpr std::string_view kObject = "assay";
constexpr std::size_t kPathBytes = 160;

struct Word {
  std::string_view key;
  std::string JobSpec::*field;
};
constexpr Word kWords[] = {{"name", &JobSpec::name},
                           {"namespace", &JobSpec::name_space},
                           {"framework", &JobSpec::framework},
                           {"masterAddr", &JobSpec::master_addr},
                           {"sharedTorIp", &JobSpec::shared_tor_ip}};

std::string Known() {
  std::string known;
  for (const Word& word : kWords) known += (known.empty() ? "" : ", ") + std::string(word.key);
  return known;
}

std::string Value(const rank_table::JsonScalar& value) {
  if (value.type == rank_table::JsonType::kNumber) return base::Shown(value.raw);
  return std::string(WithArticle(value.type));
}

// Reads the object at walker. Returns the error, or "", and sets *offset to its position.
std::string ReadWords(rank_table::JsonWalker& walker, JobSpec* spec, std::size_t* offset) {
  *offset = walker.offset();
  if (walker.type() == rank_table::JsonType::kNull) return "";
  if (walker.type() != rank_table::JsonType::kObject) {
    return std::string(kObject) + " is " + Value(walker.Scalar()) + ", not an object";
  }
  std::string wrong;
  walker.Members([&](std::string_view key, rank_table::JsonWalker& member) {
    *offset = member.offset();
    const auto* word = std::find_if(std::begin(kWords), std::end(kWords),
                                    [key](const Word& known) { return known.key == key; });
    const std::string name = std::string(kObject) + "." + base::Shown(key);
    if (word == std::end(kWords)) {
      wrong = name + " is not a known field; known fields are " + Known();
      return false;
    }
    const rank_table::JsonScalar value = member.Scalar();
    if (value.null()) return true;
    if (value.type != rank_table::JsonType::kString) {
      wrong = name + " is " + Value(value) + ", not a string";
      return false;
    }
    std::string text = value.Text();
    wrong = base::TextProblem(name, text).value_or("");
    spec->*(word->field) = std::move(text);
    return wrong.empty();
  });
  return wrong;
}

// REQUIRES: text is one JSON object.
std::string ReadSpec(std::string_view text, JobSpec* spec) {
  std::string wrong;
  std::size_t offset = 0;
  rank_table::JsonWalker(text).Members([&](std::string_view key, rank_table::JsonWalker& value) {
    if (key != kObject) return true;
    wrong = ReadWords(value, spec, &offset);
    return false;
  });
  return wrong.empty() ? ""
                       : "line " + std::to_string(rank_table::LineAt(text, offset)) + ": " + wrong;
}

}  // namespace

JobFileReading ReadJobFile(std::string_view job, std::string text, std::string_view path,
                           const rank_table::RankTableLimits& limits) {
  JobFileReading reading;
  rank_table::TableReading table = rank_table::ReadRankTable(text, path, {.limits = limits});
  reading.error = std::move(table.error);
  if (table.verdict == rank_table::TableVerdict::kReject) return reading;
  if (IsUnfinished(table, text)) {
    reading.verdict = JobFileVerdict::kUnfinished;
    return reading;
  }
  reading.job.spec.id = std::string(job);
  if (std::string wrong = ReadSpec(table.TableText(text), &reading.job.spec); !wrong.empty()) {
    reading.error = base::ShownEnd(path, kPathBytes) + ": " + wrong;
    return reading;
  }
  reading.verdict = JobFileVerdict::kTake;
  reading.error.clear();
  reading.warnings = table.table.warnings;
  reading.job.state = table.accepted() ? JobState::kRunning : JobState::kPending;
  reading.job.file = Fingerprint(text);
  SetTable(std::move(table), std::move(text), &reading.job);
  return reading;
}

bool IsUnfinished(const rank_table::TableReading& reading, std::string_view text) {
  return !reading.accepted() &&
         (rank_table::IsBlank(text) || rank_table::CheckJson(text).has_value());
}

void SetTable(rank_table::TableReading&& reading, std::string&& text, JobApplied* job) {
  if (reading.accepted()) {
    job->table_text = reading.text.empty() ? std::move(text) : std::move(reading.text);
  }
  job->table = std::make_shared<const rank_table::RankTable>(std::move(reading.table));
  job->hccl = std::make_shared<const std::string>(HcclJson(job->table_text, *job->table));
}

// FNV-1a and the size. Not collision-resistant against an attacker: users and programs of the
// cluster write these files, and have no reason to construct two contents with one fingerprint.
std::string Fingerprint(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string fingerprint = std::to_string(text.size()) + '-';
  for (int shift = 60; shift >= 0; shift -= 4) fingerprint += kHex[(hash >> shift) & 15];
  return fingerprint;
}

}  // namespace assay::core
