// Reads the results of a run, derives the exit status from them and formats them.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/output.h"
#include "cli/table.h"

namespace assay::cli {

struct RunResults {
  admin::Run run;
  std::vector<admin::Result> results;  // by rank, then op
};

// Reads a run with all its results, page by page: a run of 65,536 ranks has many pages.
base::Result<RunResults> ReadRun(Client* client, std::int64_t run);

Table ResultTable(const std::vector<admin::Result>& results);
Json RunWithResultsJson(const RunResults& run);

// Counts the outcomes that are not ok: "2 faulty, 1 timeout". Returns "" if there are none.
std::string NotOkText(const admin::Run& run);

// Exit status of `assay stress`. The worst outcome decides; they are listed worst first.
inline constexpr int kExitFaulty = 2;
inline constexpr int kExitVoltage = 4;
inline constexpr int kExitTimeout = 3;
inline constexpr int kExitNotRun = 5;
int StressExit(const admin::Run& run);

}  // namespace assay::cli
