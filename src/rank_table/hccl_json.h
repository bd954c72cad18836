// Converts a rank table of any form into the one that job signals carry
// (JobSummarySignal.HcclJson): one compact JSON text in the shape of ClusterD's job summary
// (fixtures 55 to 62 in tests/data/ranktables). docs/rank-tables.md describes which members are
// preserved and how they are converted.
//
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "rank_table/rank_table.h"

namespace assay::rank_table {

// The text that is sent while the job's table is not ready.
inline constexpr std::string_view kHcclInitializing = R"({"status":"initializing"})";

// table_text: the job's table. table: the accepted result of ReadRankTable() for it. Returns
// kHcclInitializing if either is empty. The result is valid JSON and UTF-8, ReadRankTable() reads
// the same ranks from it, and HcclJson() converts it to the same text. Time and memory are linear
// in the size of the text.
std::string HcclJson(std::string_view table_text, const RankTable& table);

}  // namespace assay::rank_table
