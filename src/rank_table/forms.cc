#include "rank_table/forms.h"

#include <cstdint>
#include <set>
#include <vector>

#include "base/text.h"
#include "rank_table/hosts.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kListedSuperPods = 4;

using ServerIds = std::set<std::string, std::less<>>;

std::string Entries(std::string_view list, std::size_t count) {
  return std::string(list) + " has " + base::Count(count, "entry", "entries");
}

// ClusterD splits a large table into slices; each slice declares the server_count of the whole
// table.
bool CountServers(const TableHead& head, std::size_t servers, std::uint64_t slices,
                  TableBuilder& builder) {
  std::string has = Entries("server_list", servers);
  if (slices > 1) {
    const std::string total = "total is " + std::to_string(slices);
    if (head.server_count.null()) {
      return builder.FailAt(head.total.offset,
                            total +
                                " but server_count is missing: a slice cannot be distinguished "
                                "from the whole table");
    }
    has += " (" + total + ": this is one slice of a split table)";
  }
  return builder.DeclaredCount(head.server_count, "server_count", "", servers, has) &&
         builder.DeclaredCount(head.server_num, "server_num", "", servers, has);
}

// Warns if a whole table looks joined from slices in the wrong order. first_ranks: the lowest rank
// of each server, in the order of the table.
void WarnOfSliceOrder(const std::vector<std::int32_t>& first_ranks, std::uint64_t slices,
                      TableBuilder& builder) {
  for (std::size_t i = 1; i < first_ranks.size() && slices > 1; ++i) {
    if (first_ranks[i] > first_ranks[i - 1]) continue;
    builder.Warn(
        "servers are not in rank order: slices may have been joined in the wrong order "
        "(total is " +
        std::to_string(slices) + ")");
    return;
  }
}

// Checks only what HCCL checks, too: the servers of a super pod exist. Ignores lists of any other
// shape.
bool CheckSuperPods(const TableHead& head, const ServerIds& server_ids, TableBuilder& builder) {
  if (head.super_pod_list.type != JsonType::kArray) return true;
  const auto check_member = [&](std::string_view key, JsonWalker& value) {
    if (key != "server_id") return true;
    const JsonScalar id = value.Scalar();
    const std::string text(TrimBlanks(id.Text()));
    if (text.empty() || server_ids.count(text) > 0) return true;
    return builder.FailAt(id.offset,
                          "super_pod_list: server " + base::Shown(text) + " is not in server_list");
  };
  const auto check_pod = [&](std::string_view key, JsonWalker& value) {
    if (key != "server_list" || value.type() != JsonType::kArray) return true;
    return value.Elements([&](std::size_t, JsonWalker& server) {
      return server.type() != JsonType::kObject || server.Members(check_member);
    });
  };
  return JsonWalker(head.text, head.super_pod_list.offset)
      .Elements([&](std::size_t, JsonWalker& pod) {
        return pod.type() != JsonType::kObject || pod.Members(check_pod);
      });
}

// A super pod that appears twice was probably copied from another table: each table numbers its
// super pods from 0.
void WarnOfRepeatedSuperPods(const TableHead& head, TableBuilder& builder) {
  if (head.super_pod_list.type != JsonType::kArray) return;
  std::set<std::string> ids;
  std::set<std::string> repeated;
  JsonWalker(head.text, head.super_pod_list.offset).Elements([&](std::size_t, JsonWalker& pod) {
    if (pod.type() != JsonType::kObject) return true;
    return pod.Members([&](std::string_view key, JsonWalker& value) {
      if (key != "super_pod_id") return true;
      const JsonScalar id = value.Scalar();
      if (!id.raw.empty() && !ids.insert(id.Text()).second) repeated.insert(ValueText(id));
      return true;
    });
  });
  if (repeated.empty()) return;
  std::string list;
  std::size_t listed = 0;
  for (const std::string& id : repeated) {
    if (++listed <= kListedSuperPods) list += (listed > 1 ? ", " : "") + id;
  }
  if (listed > kListedSuperPods) {
    list += " and " + std::to_string(listed - kListedSuperPods) + " more";
  }
  builder.Warn("super_pod_list has more than one super pod with super_pod_id " + list +
               ": tables joined by hand need ids of their own for the super pods of each");
}

struct Group {
  JsonScalar instance_count, device_count, device_num, server_count, server_num, instance_list;
};

Group ReadGroup(JsonWalker& walker) {
  Group group;
  walker.Members([&](std::string_view key, JsonWalker& value) {
    JsonScalar* field = key == "instance_list"    ? &group.instance_list
                        : key == "instance_count" ? &group.instance_count
                        : key == "device_count"   ? &group.device_count
                        : key == "device_num"     ? &group.device_num
                        : key == "server_count"   ? &group.server_count
                        : key == "server_num"     ? &group.server_num
                                                  : nullptr;
    if (field != nullptr) *field = value.Scalar();
    return true;
  });
  return group;
}

JsonScalar PodName(std::string_view text, std::size_t instance) {
  JsonScalar name;
  JsonWalker(text, instance).Members([&name](std::string_view key, JsonWalker& value) {
    if (key == "pod_name") name = value.Scalar();
    return true;
  });
  return name;
}

bool ReadInstances(const TableHead& head, const Group& group, const std::string& label,
                   TableBuilder& builder) {
  HostReader hosts(head, kInstanceShape, builder);
  const std::size_t before = builder.rank_count();
  std::size_t instances = 0;
  const auto read_instance = [&](std::size_t index, JsonWalker& walker) {
    ++instances;
    const std::string instance = label + " instance " + std::to_string(index);
    const std::size_t first = builder.rank_count();
    if (!hosts.Read(instance, walker)) return false;
    builder.SetPod(first, PodName(head.text, hosts.last().offset), instance);
    return true;
  };
  if (!ForEachObject(group.instance_list, "instance_list", label, head.text, builder,
                     read_instance)) {
    return false;
  }
  const std::size_t devices = builder.rank_count() - before;
  const std::size_t servers = hosts.node_count();
  const std::string has_devices = "its instances have " + base::Count(devices, "device", "devices");
  const std::string has_servers =
      "its instances are on " + base::Count(servers, "server", "servers");
  return builder.DeclaredCount(group.instance_count, "instance_count", label, instances,
                               Entries("instance_list", instances)) &&
         builder.DeclaredCount(group.device_count, "device_count", label, devices, has_devices) &&
         builder.DeclaredCount(group.device_num, "device_num", label, devices, has_devices) &&
         builder.DeclaredCount(group.server_count, "server_count", label, servers, has_servers) &&
         builder.DeclaredCount(group.server_num, "server_num", label, servers, has_servers);
}

}  // namespace

bool ReadServerList(const TableHead& head, TableBuilder& builder, TableRules* rules) {
  HostReader hosts(head, kServerShape, builder);
  std::vector<std::int32_t> first_ranks;
  ServerIds server_ids;  // filled only if the table has a super_pod_list
  const auto read_server = [&](std::size_t index, JsonWalker& walker) {
    const std::size_t before = builder.rank_count();
    if (!hosts.Read("server " + std::to_string(index), walker)) return false;
    first_ranks.push_back(builder.LowestRankFrom(before));
    if (!head.super_pod_list.null()) {
      server_ids.emplace(TrimBlanks(hosts.last().id.Text()));
    }
    return true;
  };
  if (!ForEachObject(head.server_list, "server_list", "", head.text, builder, read_server)) {
    return false;
  }
  const bool clusterd = hosts.any_server_name() || head.status.raw == "complete";
  rules->merge_nodes = clusterd;
  rules->gaps_allowed = clusterd;
  std::uint64_t slices = 1;
  if (clusterd && !head.total.null() &&
      !builder.Number(head.total, "total", "", UINT32_MAX, &slices)) {
    return false;
  }
  WarnOfSliceOrder(first_ranks, slices, builder);
  WarnOfRepeatedSuperPods(head, builder);
  return CountServers(head, first_ranks.size(), slices, builder) &&
         CheckSuperPods(head, server_ids, builder);
}

bool ReadNodeList(const TableHead& head, TableBuilder& builder, TableRules* rules) {
  rules->host = "node";
  HostReader hosts(head, kNodeShape, builder);
  const auto read_node = [&](std::size_t index, JsonWalker& walker) {
    return hosts.Read("node " + std::to_string(index), walker);
  };
  return ForEachObject(head.node_list, "node_list", "", head.text, builder, read_node);
}

bool ReadGroupList(const TableHead& head, TableBuilder& builder, TableRules* rules) {
  rules->merge_nodes = true;
  rules->ranks_implied = true;
  std::size_t groups = 0;
  const auto read_group = [&](std::size_t index, JsonWalker& walker) {
    ++groups;
    return ReadInstances(head, ReadGroup(walker), "group " + std::to_string(index), builder);
  };
  if (!ForEachObject(head.group_list, "group_list", "", head.text, builder, read_group)) {
    return false;
  }
  const std::size_t servers = builder.node_count();
  const std::string has = "the table names " + base::Count(servers, "server", "servers");
  return builder.DeclaredCount(head.group_count, "group_count", "", groups,
                               Entries("group_list", groups)) &&
         builder.DeclaredCount(head.server_count, "server_count", "", servers, has) &&
         builder.DeclaredCount(head.server_num, "server_num", "", servers, has);
}

}  // namespace assay::rank_table
