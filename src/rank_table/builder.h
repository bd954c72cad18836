// Collects the nodes and ranks that the form readers find in a table, then checks the whole table
// against the rules. Internal to src/rank_table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rank_table/json_text.h"
#include "rank_table/rank_table.h"

namespace assay::rank_table {

// The value of a field for messages: a string is quoted, a number is printed, of any other value
// only the type. Long values are cut.
std::string ValueText(const JsonScalar& value);

// The text without blanks (spaces, tabs, line ends) at either end.
std::string_view TrimBlanks(std::string_view text);

// Counts an irregularity that can occur in many places, for one warning: the first occurrence and
// the number of occurrences.
struct Tally {
  void Add(const std::string& text) {
    if (count == 0) first = text;
    mixed = mixed || first != text;
    ++count;
  }
  std::string first;
  std::size_t count = 0;
  bool mixed = false;
};

// Rules that depend on the form of the table.
struct TableRules {
  bool merge_nodes = false;   // true: entries with the same name are one node; false: an error
  bool gaps_allowed = false;  // true: gaps between rank ids give a warning; false: ids are 0..N-1
  // true: if no entry has a rank id, ranks follow the node names as text, then the device ids.
  bool ranks_implied = false;
  // For messages: the kind of the entries, and the field with a host's address.
  std::string_view host = "server";
  std::string_view address = "host_ip";
};

// The name of a node: the field it comes from ("server_id") and its text.
struct NodeName {
  std::string_view key;
  std::string text;
};

class TableBuilder {
 public:
  TableBuilder(std::string_view text, const ReadingOptions& options, std::uint32_t max_device_id)
      : text_(text),
        limits_(options.limits),
        rank_order_(options.rank_order),
        max_device_id_(max_device_id) {}

  // Record the table's error and return false. Only the first error counts. FailAt() adds the line
  // of offset.
  bool Fail(std::string text);
  bool FailAt(std::size_t offset, const std::string& text);
  const std::string& error() const { return error_; }

  // Reads a non-negative number that is written as a string or as an integer. label: the object
  // that has the field, for messages.
  bool Number(const JsonScalar& value, std::string_view key, const std::string& label,
              std::uint64_t max, std::uint64_t* number);
  // Fails if the count is declared and differs from `actual`. has: "server_list has 2 entries".
  bool DeclaredCount(const JsonScalar& value, std::string_view key, const std::string& label,
                     std::size_t actual, const std::string& has);

  // Reads a name or an address. Trims blanks around it, with a warning, and fails if it contains
  // blanks: it may be several addresses. label: the object that has the field, for messages.
  // REQUIRES: value is a string or a number.
  bool ReadName(const JsonScalar& value, std::string_view key, const std::string& label,
                std::string* text);
  // Takes the name from the first field that is present and not empty, but checks all fields.
  // Leaves *name empty if no field has a name. label: the object that has the fields, for messages.
  struct NamedField {
    std::string_view key;
    const JsonScalar* value;
  };
  bool ReadNodeName(std::span<const NamedField> fields, const std::string& label, NodeName* name);

  // Returns the node with that name: a new node, or that of an earlier entry. offset: of the entry.
  std::uint32_t AddNode(const NodeName& name, std::size_t offset);
  void AddHostAddress(std::uint32_t node, std::string_view address);
  // rank: kNull means implied. device: kNull means none, which is allowed if device_optional.
  bool AddRank(std::uint32_t node, const JsonScalar& rank, const JsonScalar& device,
               bool device_optional, std::size_t offset);

  // Gives the ranks that were added since rank_count() was `first` the index at the end of their
  // pod's name. label: the pod's object, for messages.
  void SetPod(std::size_t first, const JsonScalar& pod_name, const std::string& label);

  std::size_t rank_count() const { return places_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  // The lowest rank among those added since rank_count() was `first`.
  // REQUIRES: first < rank_count().
  std::int32_t LowestRankFrom(std::size_t first) const;

  void Warn(std::string text) { warnings_.push_back(std::move(text)); }
  Tally device_ips;          // device_ip values that are not addresses
  Tally super_device_ids;    // empty super_device_id values
  Tally ranks_without_node;  // 2.0: ids of ranks without net_layer 0

  // Returns no value on failure; error() has the reason. May be called once.
  std::optional<RankTable> Finish(const TableRules& rules);
  // After Finish(): the text with the corrections that the table was read with, "" if there are
  // none.
  std::string CorrectedText();

 private:
  struct Place {
    std::int32_t rank;
    std::int32_t device;
    std::uint32_t node;
    std::int32_t pod;  // the index at the end of the pod's name; -1: none
    std::size_t offset;
  };
  // Replaces `length` bytes of the text at `offset`.
  struct Correction {
    std::size_t offset;
    std::size_t length;
    std::string replacement;
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
  bool NumberRanks();
  void WarnOfOrder(const std::vector<Place>& by_server, const std::vector<Place>& by_pod);
  void WriteRankIds();
  bool CheckRanksUnique();
  bool CheckDevicesUnique();
  bool CheckGaps(const TableRules& rules);
  std::string MissingRanks() const;
  void WarnOfInterleaving(const TableRules& rules);
  void WarnOfTallies();
  void GiveAliases(const TableRules& rules);

  const std::string_view text_;
  const RankTableLimits limits_;
  const RankOrder rank_order_;
  const std::uint32_t max_device_id_;
  std::string error_;
  std::vector<std::string> warnings_;
  std::vector<TableNode> nodes_;
  std::vector<std::size_t> entry_of_node_;  // [node] -> the first entry with its name
  std::map<std::string, std::uint32_t, std::less<>> node_of_name_;
  std::size_t entries_ = 0;
  std::optional<RepeatedNode> repeated_;
  std::vector<std::pair<std::string, std::uint32_t>> host_addresses_;
  std::vector<Place> places_;
  std::set<std::int32_t> pods_;  // indexes of the pods so far
  std::string pod_problem_;      // why the pods do not number all ranks; "" if they do
  RankOrder used_order_ = RankOrder::kUnspecified;
  bool order_in_doubt_ = false;
  std::vector<Correction> corrections_;
  Tally trimmed_;
  Tally loopbacks_;
  Tally placeholders_;
  Tally long_names_;
};

}  // namespace assay::rank_table
