// A file of the jobs directory: the rank table of one job, and what else is said of the job in an
// object of its own, "assay", which other readers of the table pass over (docs/jobs.md).
//
// Pure. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"
#include "core/model.h"
#include "rank_table/rank_table.h"

namespace assay {

enum class JobFileVerdict {
  kTake,
  kUnfinished,  // empty or half written: may be right soon
  kBroken,
};

struct JobFileReading {
  JobFileVerdict verdict = JobFileVerdict::kBroken;
  JobApplied job;                     // kTake: all but call and caller
  std::vector<std::string> warnings;  // kTake: of the rank table
  std::string error;                  // else: file, place and value, valid UTF-8 under 1 KB
};

// text: what the file of that job holds; path: the file, for errors. A table that says itself that
// it is not complete is a job that is pending.
JobFileReading ReadJobFile(std::string_view job, std::string text, std::string_view path,
                           const RankTableLimits& limits = {});

// Of a table that is not accepted and not rejected: it is empty or ends in the middle, and was read
// too early. Else it says itself that it is not complete yet, which is a job to come.
bool IsUnfinished(const TableReading& reading, std::string_view text);

// Gives the job the table, and the text if it is ready. REQUIRES: accepted, or of a job to come.
void SetTable(TableReading&& reading, std::string&& text, JobApplied* job);

// Tells one content of a file from another; never empty.
std::string Fingerprint(std::string_view text);

}  // namespace assay
