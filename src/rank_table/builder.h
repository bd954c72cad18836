// Gathers what the readers of the forms find in a table, and holds the whole against the rules.
// Part of rank_table.cc; nothing else includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rank_table/json_text.h"
#include "rank_table/rank_table.h"

namespace assay {

// The value of a field, for messages: quoted if it is a string, short, or what it is instead.
std::string ValueText(const JsonScalar& value);

// What is unusual in several places is warned of once: the first, and how many there are.
struct Tally {
  void Add(std::string text) {
    if (count == 0) first = text;
    mixed = mixed || first != text;
    ++count;
  }
  std::string first;
  std::size_t count = 0;
  bool mixed = false;
};

// Rules in which the forms differ.
struct TableRules {
  bool merge_nodes = false;    // entries of one name are one node; else an error
  bool gaps_allowed = false;   // rank ids may leave gaps, with a warning; else 0..N-1
  bool ranks_implied = false;  // if no entry has a rank id: by node name as text, then device id
  // The entries' kind and the field of a host's address, for messages.
  std::string_view host = "server";
  std::string_view address = "host_ip";
};

// What names a node: the field ("server_id") and its text.
struct NodeName {
  std::string_view key;
  std::string text;
};

class TableBuilder {
 public:
  TableBuilder(std::string_view text, const RankTableLimits& limits, std::uint32_t max_device_id)
      : text_(text), limits_(limits), max_device_id_(max_device_id) {}

  // Both answer false. The first failure is the table's error.
  bool Fail(std::string text);
  bool FailAt(std::size_t offset, const std::string& text);  // with the line
  const std::string& error() const { return error_; }

  // A non-negative number, written as a string or as an integer. label: whose field it is.
  bool Number(const JsonScalar& value, std::string_view key, const std::string& label,
              std::uint64_t max, std::uint64_t* number);
  // If a count is declared, it must be actual. has: "server_list has 2 entries".
  bool DeclaredCount(const JsonScalar& value, std::string_view key, const std::string& label,
                     std::size_t actual, const std::string& has);

  // The name from the first field that is there and not empty; all fields are checked. No name in
  // *name: none is there. label: whose fields they are.
  struct NamedField {
    std::string_view key;
    const JsonScalar* value;
  };
  bool ReadNodeName(std::span<const NamedField> fields, const std::string& label, NodeName* name);

  // The node of that name, a new one or that of an earlier entry. offset: the entry's.
  std::uint32_t AddNode(const NodeName& name, std::size_t offset);
  void AddHostAddress(std::uint32_t node, std::string address);
  // rank: absent = implied. device: kNull = none, where device_optional.
  bool AddRank(std::uint32_t node, const JsonScalar& rank, const JsonScalar& device,
               bool device_optional, std::size_t offset);

  std::size_t rank_count() const { return places_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  // Of the ranks added since rank_count() was first. REQUIRES: first < rank_count().
  std::int32_t LowestRankFrom(std::size_t first) const;

  void Warn(std::string text) { warnings_.push_back(std::move(text)); }
  Tally device_ips;          // values that are not addresses
  Tally super_device_ids;    // empty ones
  Tally ranks_without_node;  // 2.0: ids of ranks without net_layer 0

  // Nothing: failed. May be called once.
  std::optional<RankTable> Finish(const TableRules& rules);

 private:
  struct Place {
    std::int32_t rank;
    std::int32_t device;
    std::uint32_t node;
    std::size_t offset;
  };
  struct RepeatedNode {
    NodeName name;
    std::size_t first_entry;
    std::size_t entry;
    std::size_t offset;
  };

  std::string Shown(std::uint32_t node) const;
  std::string Shown(const Place& place) const;
  bool CheckRepeatedNodes(const TableRules& rules);
  bool AssignImpliedRanks(const TableRules& rules);
  bool CheckRanksUnique();
  bool CheckDevicesUnique();
  bool CheckGaps(const TableRules& rules);
  std::string MissingRanks() const;
  void WarnOfInterleaving(const TableRules& rules);
  void WarnOfTallies();
  void GiveAliases(const TableRules& rules);

  const std::string_view text_;
  const RankTableLimits limits_;
  const std::uint32_t max_device_id_;
  std::string error_;
  std::vector<std::string> warnings_;
  std::vector<TableNode> nodes_;
  std::vector<std::size_t> entry_of_node_;  // the entry that named the node first
  std::map<std::string, std::uint32_t, std::less<>> node_of_name_;
  std::size_t entries_ = 0;
  std::optional<RepeatedNode> repeated_;
  std::vector<std::pair<std::string, std::uint32_t>> host_addresses_;
  std::vector<Place> places_;
  Tally placeholders_;
  Tally long_names_;
};

}  // namespace assay
