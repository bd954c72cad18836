// Reads a file of the jobs directory: the rank table of one job, with the other fields of the job
// in the object "assay", which other readers of the table ignore (docs/jobs.md).
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"
#include "core/model.h"
#include "rank_table/rank_table.h"

namespace assay::core {

enum class JobFileVerdict {
  kTake,
  kUnfinished,  // empty or half written: may become valid soon
  kBroken,
};

struct JobFileReading {
  JobFileVerdict verdict = JobFileVerdict::kBroken;
  JobApplied job;                     // kTake: every field except call and caller
  std::vector<std::string> warnings;  // kTake: of the rank table
  std::string error;                  // else: file, line and value, valid UTF-8 under 1 KB
};

// text: the content of the job's file. path: the file, for errors. A table with the status
// initializing makes a pending job.
JobFileReading ReadJobFile(std::string_view job, std::string text, std::string_view path,
                           const rank_table::RankTableLimits& limits = {});

// Whether a table that is not ready was read too early: it is empty or truncated. Otherwise the
// table is complete JSON with the status initializing, and the job is pending.
// REQUIRES: the table is not rejected.
bool IsUnfinished(const rank_table::TableReading& reading, std::string_view text);

// Sets the job's table, and its text if the table is accepted.
// REQUIRES: the table is accepted, or its status is initializing.
void SetTable(rank_table::TableReading&& reading, std::string&& text, JobApplied* job);

// A fingerprint that differs between contents of a file; never empty.
std::string Fingerprint(std::string_view text);

}  // namespace assay::core
