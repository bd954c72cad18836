// The rank table as a job's signals carry it (JobSummarySignal.HcclJson): one compact JSON text in
// the shape of ClusterD's job summary, whatever form the job's own table has. docs/rank-tables.md
// says what is kept and what becomes of it. Shape: ClusterD's summary of a job, fixtures 55 to 62
// in tests/data/ranktables.
//
// Pure. Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "rank_table/rank_table.h"

namespace assay {

// What is sent while a job has no table that is ready.
inline constexpr std::string_view kHcclInitializing = R"({"status":"initializing"})";

// table_text: as the job gave it; table: what ReadRankTable() made of it, accepted. Where either is
// empty the answer is kHcclInitializing. The answer is valid JSON and UTF-8; ReadRankTable() reads
// the same ranks from it, and HcclJson() makes the same text of it again. Time and memory are
// linear in the size of the text.
std::string HcclJson(std::string_view table_text, const RankTable& table);

}  // namespace assay
