// Invariants of HcclJson() for any table; used by property tests and the fuzzer.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rank_table/hccl_json.h"
#include "rank_table/json_text.h"
#include "rank_table/rank_table.h"

namespace assay::rank_table {

using RankTriple = std::tuple<std::int32_t, std::int32_t, std::string>;

inline std::vector<RankTriple> RankTriples(const RankTable& table) {
  std::vector<RankTriple> triples;
  for (const RankPlace& place : table.ranks) {
    triples.emplace_back(place.rank, place.device, table.nodes[place.node].name);
  }
  return triples;
}

// Returns the broken invariant, or "". reading: ReadRankTable(text), accepted or not.
inline std::string BrokenHcclJson(std::string_view text, const TableReading& reading) {
  const std::string json = HcclJson(reading.TableText(text), reading.table);
  if (CheckJson(json)) return "not JSON: " + json;
  if (!reading.accepted()) return json == kHcclInitializing ? "" : "sent though not ready";
  if (json.find('\n') != std::string::npos) return "not compact";
  if (json.size() > 2 * text.size() + 200 * reading.table.ranks.size() + 200) return "grows";
  const TableReading again = ReadRankTable(json, "sent");
  if (!again.accepted()) return again.error + "\n" + json;
  if (RankTriples(again.table) != RankTriples(reading.table)) return "other ranks: " + json;
  if (HcclJson(json, again.table) != json) return "not the same again: " + json;
  return "";
}

}  // namespace assay::rank_table
