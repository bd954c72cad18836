#include <algorithm>
#include <tuple>

#include "base/ip_address.h"
#include "base/text.h"
#include "rank_table/builder.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kListedGaps = 4;

std::string AndMore(std::size_t count) {
  return count > 1 ? " (and " + std::to_string(count - 1) + " more)" : "";
}

}  // namespace

std::optional<RankTable> TableBuilder::Finish(const TableRules& rules) {
  if (!error_.empty() || !CheckRepeatedNodes(rules) || !AssignImpliedRanks(rules)) return {};
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.rank < b.rank; });
  if (!CheckRanksUnique() || !CheckDevicesUnique() || !CheckGaps(rules)) return {};

  // The order of the warnings: those about the mapping come first.
  std::vector<std::string> first = std::move(warnings_);
  warnings_.clear();
  const auto no_device = [](const Place& place) { return place.device < 0; };
  const auto count = std::count_if(places_.begin(), places_.end(), no_device);
  if (count > 0) {
    const Place& place = *std::find_if(places_.begin(), places_.end(), no_device);
    Warn("rank " + std::to_string(place.rank) + " on " + Shown(place.node) + " has no device" +
         AndMore(static_cast<std::size_t>(count)));
  }
  WarnOfInterleaving(rules);
  GiveAliases(rules);
  WarnOfTallies();
  warnings_.insert(warnings_.begin(), first.begin(), first.end());

  RankTable table;
  table.nodes = std::move(nodes_);
  table.warnings = std::move(warnings_);
  table.rank_order = used_order_;
  table.rank_order_in_doubt = order_in_doubt_;
  table.ranks.reserve(places_.size());
  for (const Place& place : places_) table.ranks.push_back({place.rank, place.device, place.node});
  return table;
}

bool TableBuilder::CheckRepeatedNodes(const TableRules& rules) {
  if (rules.merge_nodes || !repeated_) return true;
  return FailAt(repeated_->offset, std::string(repeated_->name.key) + ' ' +
                                       base::Quoted(repeated_->name.text) + " appears twice (" +
                                       std::string(rules.host) + "s " +
                                       std::to_string(repeated_->first_entry) + " and " +
                                       std::to_string(repeated_->entry) + ")");
}

bool TableBuilder::AssignImpliedRanks(const TableRules& rules) {
  const auto implied = [](const Place& place) { return place.rank < 0; };
  const auto missing = std::find_if(places_.begin(), places_.end(), implied);
  if (missing == places_.end()) return true;
  const bool all = std::all_of(places_.begin(), places_.end(), implied);
  if (!rules.ranks_implied || !all) {
    return FailAt(missing->offset, Shown(*missing) + ": rank_id is missing" +
                                       (rules.ranks_implied ? ", but others have one" : ""));
  }
  return NumberRanks();
}

bool TableBuilder::CheckRanksUnique() {
  const auto same = [](const Place& a, const Place& b) { return a.rank == b.rank; };
  const auto pair = std::adjacent_find(places_.begin(), places_.end(), same);
  if (pair == places_.end()) return true;
  return FailAt((pair + 1)->offset, "rank_id " + std::to_string(pair->rank) + " used by " +
                                        Shown(*pair) + " and " + Shown(*(pair + 1)));
}

bool TableBuilder::CheckDevicesUnique() {
  std::vector<Place> by_device = places_;
  const auto key = [](const Place& place) { return std::tie(place.node, place.device); };
  std::stable_sort(by_device.begin(), by_device.end(),
                   [key](const Place& a, const Place& b) { return key(a) < key(b); });
  const auto pair = std::adjacent_find(
      by_device.begin(), by_device.end(),
      [key](const Place& a, const Place& b) { return a.device >= 0 && key(a) == key(b); });
  if (pair == by_device.end()) return true;
  return FailAt((pair + 1)->offset, Shown(*pair) + " used by ranks " + std::to_string(pair->rank) +
                                        " and " + std::to_string((pair + 1)->rank));
}

bool TableBuilder::CheckGaps(const TableRules& rules) {
  const auto count = static_cast<std::int32_t>(places_.size());
  if (places_.empty() || places_.back().rank == count - 1) return true;
  if (rules.gaps_allowed) {
    Warn("rank ids are not contiguous: " + MissingRanks() + " missing");
    return true;
  }
  const std::int32_t lowest = places_.front().rank;
  if (lowest > 0) {
    return Fail("rank ids do not start at 0 (lowest is " + std::to_string(lowest) + ")");
  }
  std::int32_t missing = 0;
  while (places_[static_cast<std::size_t>(missing)].rank == missing) ++missing;
  const auto above = std::find_if(places_.begin(), places_.end(),
                                  [count](const Place& place) { return place.rank >= count; });
  return FailAt(above->offset, "rank ids are not 0..N-1: rank " + std::to_string(missing) +
                                   " missing, rank " + std::to_string(above->rank) +
                                   " >= " + base::Count(places_.size(), "rank", "ranks"));
}

// The missing rank ids: "1, 4-7 and 3 more gaps".
std::string TableBuilder::MissingRanks() const {
  std::string text;
  std::size_t gaps = 0;
  std::int32_t next = 0;
  for (const Place& place : places_) {
    if (place.rank > next && ++gaps <= kListedGaps) {
      text += (gaps > 1 ? ", " : "") + std::to_string(next);
      if (place.rank > next + 1) text += '-' + std::to_string(place.rank - 1);
    }
    next = place.rank + 1;
  }
  if (gaps > kListedGaps)
    text += " and " + base::Count(gaps - kListedGaps, "more gap", "more gaps");
  return text;
}

// HCCL expects the ranks of a server to be contiguous, but its parser does not check.
void TableBuilder::WarnOfInterleaving(const TableRules& rules) {
  struct Span {
    std::int32_t lowest;
    std::int32_t highest;
    std::uint32_t node;
  };
  std::vector<Span> spans;  // ascending by lowest rank, because places_ ascends by rank
  std::vector<std::size_t> span_of_node(nodes_.size(), SIZE_MAX);
  for (const Place& place : places_) {
    std::size_t& span = span_of_node[place.node];
    if (span == SIZE_MAX) {
      span = spans.size();
      spans.push_back({place.rank, place.rank, place.node});
    }
    spans[span].highest = place.rank;
  }
  Tally interleaved;
  const Span* reaching = nullptr;  // the span with the highest end so far
  for (const Span& span : spans) {
    if (reaching != nullptr && reaching->highest > span.lowest) {
      interleaved.Add("ranks of " + std::string(rules.host) + "s " + Shown(reaching->node) +
                      " and " + Shown(span.node) + " interleave");
    }
    if (reaching == nullptr || span.highest > reaching->highest) reaching = &span;
  }
  if (interleaved.count > 0) Warn(interleaved.first + AndMore(interleaved.count));
}

void TableBuilder::GiveAliases(const TableRules& rules) {
  std::sort(host_addresses_.begin(), host_addresses_.end());
  host_addresses_.erase(std::unique(host_addresses_.begin(), host_addresses_.end()),
                        host_addresses_.end());
  Tally shared;
  for (auto first = host_addresses_.begin(); first != host_addresses_.end();) {
    const auto next = std::find_if(first, host_addresses_.end(), [first](const auto& other) {
      return other.first != first->first;
    });
    if (next - first > 1) {
      shared.Add(std::string(rules.address) + ' ' + base::Quoted(first->first) + " is shared by " +
                 std::string(rules.host) + "s " + Shown(first->second) + " and " +
                 Shown((first + 1)->second));
    } else if (base::IsIpAddress(first->first) && node_of_name_.count(first->first) == 0) {
      nodes_[first->second].aliases.push_back(first->first);
    }
    first = next;
  }
  if (shared.count > 0) Warn(shared.first + AndMore(shared.count));
}

void TableBuilder::WarnOfTallies() {
  if (ranks_without_node.count > 0) {
    const std::size_t count = ranks_without_node.count;
    Warn("rank " + ranks_without_node.first + " has no net_layer 0: node unknown" +
         (count > 1 ? " (" + std::to_string(count) + " ranks)" : ""));
  }
  if (loopbacks_.count > 0) Warn(loopbacks_.first + AndMore(loopbacks_.count));
  if (trimmed_.count > 0) Warn(trimmed_.first + AndMore(trimmed_.count));
  if (placeholders_.count > 0) Warn(placeholders_.first + AndMore(placeholders_.count));
  if (long_names_.count > 0) Warn(long_names_.first + AndMore(long_names_.count));
  if (device_ips.count > 0) {
    Warn("device_ip " + device_ips.first +
         (device_ips.mixed ? " (and others) is not an address (" : " is not an address (") +
         base::Count(device_ips.count, "device", "devices") + ")");
  }
  if (super_device_ids.count > 0) {
    Warn("super_device_id is empty (" + base::Count(super_device_ids.count, "device", "devices") +
         ")");
  }
}

}  // namespace assay::rank_table
