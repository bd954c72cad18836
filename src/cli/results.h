// Results of runs as commands read, judge and print them.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/output.h"
#include "cli/table.h"

namespace assay {

struct RunResults {
  admin::Run run;
  std::vector<admin::Result> results;  // by rank, then op
};

// Page by page; a run of 65,536 ranks has many.
Result<RunResults> ReadRun(Client* client, std::int64_t run);

Table ResultTable(const std::vector<admin::Result>& results);
Json RunWithResultsJson(const RunResults& run);

// "2 faulty, 1 timeout"; "" when all that is answered is ok.
std::string NotOkText(const admin::Run& run);

// Exit status of `assay stress`: the worst outcome wins, in this order.
inline constexpr int kExitFaulty = 2;
inline constexpr int kExitVoltage = 4;
inline constexpr int kExitTimeout = 3;
inline constexpr int kExitNotRun = 5;
int StressExit(const admin::Run& run);

}  // namespace assay
