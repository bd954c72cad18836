// The objects of a rank table as they are written: which members they have, without any judgement.
// ReadRankTable() checks what was read here, and HcclJson() writes it. Internal to src/rank_table.
//
// A member that is absent is a JsonScalar of kNull. Lists are not read here: their JsonScalar has
// only the offset and the type.
//
// Lifetime: refers to the text of the table. Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rank_table/json_text.h"

namespace assay::rank_table {

// A member of an object: its key with escape sequences resolved, and the offset of its value.
struct JsonMember {
  std::string key;
  std::size_t offset = 0;
};
using JsonMembers = std::vector<JsonMember>;

// The lists that a table can have, in order of precedence: the first one in the table decides its
// form, regardless of the version.
enum class Form { kServers, kRanks, kGroups, kNodes };
inline constexpr std::string_view kFormLists[] = {"server_list", "rank_list", "group_list",
                                                  "node_list"};

// A table's outermost object.
struct TableHead {
  std::string_view text;
  JsonScalar status, version;
  JsonScalar total;  // ClusterD: the number of slices of the table
  JsonScalar server_count, server_num, rank_count, device_count, device_num, group_count;
  JsonScalar server_list, rank_list, group_list, node_list;
  JsonScalar super_pod_list, server_group_list, prefill_device_list, decode_device_list;
  std::string keys;  // the first few keys, for messages

  const JsonScalar& list(Form form) const;
  // The form of the table; kNodes if it has none of the lists.
  Form form() const;
  // Whether the table is version 2.0, whose device ids have another range. A rank_list implies it.
  bool v2() const { return version.raw == "2.0" || !rank_list.null(); }
};

// The names of the members of a host, and the rules that differ between the forms.
struct HostShape {
  std::string_view id;       // the field that identifies a host
  std::string_view devices;  // the field with its list of devices
  bool host_rank = false;    // "lab" tables: the host has the rank_id, and then only one device
  bool device_optional = false;
  // Accept what HcclJson() writes for other forms: servers without a name (2.0) and kHostDevice.
  bool converted = false;
};
inline constexpr HostShape kServerShape{"server_id", "device", false, false, true};
inline constexpr HostShape kInstanceShape{"server_id", "devices", true};
inline constexpr HostShape kNodeShape{"node_addr", "ranks", false, true};

// A server, an instance of a group, or a node.
struct HostObject {
  std::size_t offset = 0;
  JsonScalar server_name, server_sn, id, host_ip, rank_id, device_count, device_num, devices;
};

// A device of a host, or an entry of a rank_list.
struct DeviceObject {
  std::size_t offset = 0;
  JsonScalar device_id, rank_id, rankid, device_ip, rank_ip, super_device_id, level_list;
};

// A network level of an entry of a rank_list.
struct LevelObject {
  std::size_t offset = 0;
  JsonScalar net_layer, net_instance_id, rank_addr_list;
};

// Each reads the object at walker. members: gets all members, in order, unless it is null.
// REQUIRES: walker is at an object.
TableHead ReadHead(std::string_view text, JsonMembers* members = nullptr);
HostObject ReadHost(const HostShape& shape, JsonWalker& walker, JsonMembers* members = nullptr);
DeviceObject ReadDevice(JsonWalker& walker, JsonMembers* members = nullptr);
LevelObject ReadLevel(JsonWalker& walker);

}  // namespace assay::rank_table
