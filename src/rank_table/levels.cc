// Reads rank_list, the form of 2.0: a flat list of ranks, whose network levels name the node of
// each rank.
#include <cstdint>
#include <vector>

#include "base/ip_address.h"
#include "base/text.h"
#include "rank_table/forms.h"

namespace assay::rank_table {
namespace {

// Documented limits of 2.0.
constexpr std::size_t kLevels = 8;
constexpr std::size_t kAddresses = 24;
constexpr std::size_t kPorts = 16;
constexpr std::uint64_t kNodeLayer = 0;  // this net_layer's net_instance_id names the node
constexpr std::uint64_t kHostLayer = 3;  // this net_layer has the host's addresses

// Reads the node name and the host addresses from the levels of one rank.
class LevelReader {
 public:
  LevelReader(const TableHead& head, std::string label, TableBuilder& builder)
      : head_(head), label_(std::move(label)), builder_(builder) {}

  bool Read(const JsonScalar& level_list) {
    return ForEachOptional(level_list, "level_list", kLevels, [this](JsonWalker& walker) {
      return walker.type() == JsonType::kObject ? ReadOne(ReadLevel(walker))
                                                : FailType(walker, "level_list", "not an object");
    });
  }

  const JsonScalar& node() const { return node_; }
  const std::vector<std::string>& host_addresses() const { return host_addresses_; }

 private:
  bool FailType(const JsonWalker& value, std::string_view list, std::string_view expected) {
    return builder_.FailAt(value.offset(), label_ + ": " + std::string(list) + " has " +
                                               std::string(WithArticle(value.type())) + ", " +
                                               std::string(expected));
  }

  // Visits the elements of an array that may be absent or empty; fails if it has more than `limit`.
  template <class Visit>
  bool ForEachOptional(const JsonScalar& list, std::string_view key, std::size_t limit,
                       Visit&& visit) {
    if (list.null()) return true;
    if (list.type != JsonType::kArray) {
      return builder_.FailAt(list.offset, label_ + ": " + std::string(key) + " is " +
                                              ValueText(list) + ", not an array");
    }
    return JsonWalker(head_.text, list.offset).Elements([&](std::size_t index, JsonWalker& value) {
      if (index < limit) return visit(value);
      return builder_.FailAt(list.offset, label_ + ": " + std::string(key) + " has more than " +
                                              std::to_string(limit) + " entries");
    });
  }

  bool ReadOne(const LevelObject& level) {
    std::uint64_t layer = 0;
    if (level.net_layer.null()) {
      return builder_.FailAt(level.offset, label_ + " has a level without net_layer");
    }
    if (!builder_.Number(level.net_layer, "net_layer", label_, UINT32_MAX, &layer)) return false;
    if (layer == kNodeLayer) {
      if (!node_.null()) {
        return builder_.FailAt(level.net_layer.offset, label_ + " has two levels of net_layer 0");
      }
      node_ = level.net_instance_id;
    }
    return ForEachOptional(level.rank_addr_list, "rank_addr_list", kAddresses,
                           [&](JsonWalker& walker) {
                             return walker.type() == JsonType::kObject
                                        ? ReadAddress(layer, walker)
                                        : FailType(walker, "rank_addr_list", "not an object");
                           });
  }

  bool ReadAddress(std::uint64_t layer, JsonWalker& walker) {
    JsonScalar ports, address;
    walker.Members([&](std::string_view key, JsonWalker& value) {
      if (key == "ports") ports = value.Scalar();
      if (key == "addr" && layer == kHostLayer) address = value.Scalar();
      return true;
    });
    if (address.type == JsonType::kString) {
      std::string text;
      if (!builder_.ReadName(address, "addr", label_, &text)) return false;
      if (base::IsIpAddress(text)) host_addresses_.push_back(std::move(text));
    }
    return ForEachOptional(ports, "ports", kPorts, [](JsonWalker&) { return true; });
  }

  const TableHead& head_;
  const std::string label_;
  TableBuilder& builder_;
  JsonScalar node_;
  std::vector<std::string> host_addresses_;
};

}  // namespace

bool ReadRankList(const TableHead& head, TableBuilder& builder, TableRules* rules) {
  rules->merge_nodes = true;
  rules->host = "node";
  rules->address = "net_layer 3 address";
  const auto read_rank = [&](std::size_t index, JsonWalker& walker) {
    const DeviceObject rank = ReadDevice(walker);
    const std::string label = "rank_list entry " + std::to_string(index);
    LevelReader levels(head, label, builder);
    if (!levels.Read(rank.level_list)) return false;
    const TableBuilder::NamedField field[] = {{"net_instance_id", &levels.node()}};
    NodeName name;
    if (!builder.ReadNodeName(field, label, &name)) return false;
    if (rank.rank_id.null()) return builder.FailAt(rank.offset, label + ": rank_id is missing");
    if (name.text.empty()) builder.ranks_without_node.Add(base::Shown(rank.rank_id.raw));
    const std::uint32_t node = builder.AddNode(name, rank.offset);
    for (const std::string& address : levels.host_addresses()) {
      builder.AddHostAddress(node, address);
    }
    return builder.AddRank(node, rank.rank_id, rank.device_id, false, rank.offset);
  };
  return ForEachObject(head.rank_list, "rank_list", "", head.text, builder, read_rank);
}

}  // namespace assay::rank_table
