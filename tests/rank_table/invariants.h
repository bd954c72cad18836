// Invariants of every result of ReadRankTable(), for any text; used by property tests and the
// fuzzer.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "rank_table/rank_table.h"

namespace assay::rank_table {

inline bool IsPlainUtf8(std::string_view text) {
  while (!text.empty()) {
    const int length = base::Utf8Length(text);
    if (length <= 0 || base::IsControl(text)) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

// Whether the corrected text of a reading, if there is one, needs no further correction and no
// options, and gives the same nodes and ranks.
inline bool CorrectedTextHolds(const TableReading& reading) {
  if (reading.text.empty()) return true;
  const TableReading again = ReadRankTable(reading.text, "corrected");
  const auto same_node = [](const TableNode& a, const TableNode& b) {
    return a.name == b.name && a.aliases == b.aliases;
  };
  return again.accepted() && again.text.empty() && again.table.ranks == reading.table.ranks &&
         std::equal(again.table.nodes.begin(), again.table.nodes.end(), reading.table.nodes.begin(),
                    reading.table.nodes.end(), same_node);
}

// Returns the broken invariant, or "".
inline std::string BrokenInvariant(const TableReading& reading) {
  constexpr std::size_t kMessageBytes = 1024;
  const RankTable& table = reading.table;
  if (reading.error.size() >= kMessageBytes || !IsPlainUtf8(reading.error)) return "error's text";
  if (table.warnings.size() > 16) return "number of warnings";
  for (const std::string& warning : table.warnings) {
    if (warning.empty() || warning.size() >= kMessageBytes || !IsPlainUtf8(warning)) {
      return "a warning's text";
    }
  }
  if (!reading.accepted()) {
    if (reading.error.empty()) return "refused without error";
    const bool empty = table.nodes.empty() && table.ranks.empty() && table.warnings.empty() &&
                       reading.text.empty();
    return empty ? "" : "refused with a table";
  }
  if (!reading.error.empty()) return "accepted with an error";
  if (!CorrectedTextHolds(reading)) return "corrected text: " + reading.text;
  if ((reading.verdict == TableVerdict::kAcceptWarn) == table.warnings.empty()) return "warnings";
  if (table.ranks.empty()) return "accepted without ranks";
  std::set<std::string> names;
  for (const TableNode& node : table.nodes) {
    if (!names.insert(node.name).second || !IsPlainUtf8(node.name)) return "a node's name";
  }
  std::vector<bool> used(table.nodes.size());
  std::set<std::pair<std::uint32_t, std::int32_t>> devices;
  std::int32_t last = -1;
  for (const RankPlace& place : table.ranks) {
    if (place.rank <= last) return "ranks do not ascend";
    last = place.rank;
    if (place.node >= table.nodes.size()) return "node index";
    used[place.node] = true;
    if (place.device < -1) return "device id";
    if (place.device >= 0 && !devices.insert({place.node, place.device}).second) {
      return "a device twice";
    }
  }
  for (const bool node_used : used) {
    if (!node_used) return "a node without ranks";
  }
  return "";
}

}  // namespace assay::rank_table
