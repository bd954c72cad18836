#include "rank_table/hccl_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/number.h"
#include "rank_table/json_text.h"
#include "rank_table/json_writer.h"
#include "rank_table/objects.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kNowhere = SIZE_MAX;
// 2.0: these net_layers name the node of a rank, and have the host's addresses.
constexpr std::string_view kNodeLayer = "0";
constexpr std::string_view kHostLayer = "3";
// The limits of a reader of the result (JsonLimits), less the members and levels added here.
constexpr std::size_t kMembers = 9'000;  // copied into one object
constexpr std::size_t kDepth = 48;       // of one copied value

// A device to be written, with the offsets of its objects in the table.
struct Device {
  std::size_t offset = 0;
  JsonScalar instance_rank;         // group_list: rank_id of the instance
  std::size_t instance = kNowhere;  // the instance whose other members are written with the device
};
// A server to be written, with the offset of its object in the table.
struct Server {
  std::uint32_t node = 0;
  std::size_t host = kNowhere;  // the object that names the server
  bool host_members = false;    // write the other members of that object with the server
  std::vector<Device> devices;
};

// The names of a host's members in each form. A table of ranks has no hosts.
const HostShape& ShapeOf(Form form) {
  return form == Form::kNodes ? kNodeShape : form == Form::kGroups ? kInstanceShape : kServerShape;
}

bool IsOneOf(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void Drop(const std::function<bool(std::string_view key)>& dropped, JsonMembers* members) {
  members->erase(std::remove_if(members->begin(), members->end(),
                                [&](const JsonMember& member) { return dropped(member.key); }),
                 members->end());
}

std::string Digits(std::string_view raw) {
  raw.remove_prefix(std::min(raw.find_first_not_of('0'), raw.size()));
  return raw.empty() ? "0" : std::string(raw);
}

class Conversion {
 public:
  Conversion(std::string_view text, const RankTable& table)
      : text_(text), table_(table), head_(ReadHead(text, &others_)), form_(head_.form()) {
    for (std::uint32_t node = 0; node < table.nodes.size(); ++node) {
      node_of_name_.emplace(table.nodes[node].name, node);
    }
    DropOthers();
  }

  std::string Write();

 private:
  void DropOthers();
  std::string Version() const;
  std::string Total() const;

  std::vector<Server> Servers() const;
  void AddHost(JsonWalker& walker, std::vector<Server>* servers) const;
  void AddInstance(JsonWalker& walker, std::vector<Server>* servers,
                   std::vector<std::size_t>* server_of_node) const;
  std::uint32_t NodeOf(const HostObject& host) const;
  std::uint32_t NodeOfRank(JsonWalker walker) const;
  HostObject HostAt(std::size_t offset, JsonMembers* others = nullptr) const;

  void WriteServer(const Server& server);
  void WriteServerMembers(const Server& server, const HostObject& host, const JsonMembers& others);
  void WriteDevice(const Server& server, const Device& device);
  // Writes at most *room members and subtracts them from *room.
  void WriteMembers(const JsonMembers& members, std::size_t* room);
  JsonMembers InstanceMembers(const Device& device, const JsonMembers& own) const;
  std::string RankId(const Server& server, const Device& device, const JsonScalar& rank,
                     const JsonScalar& device_id);
  std::string FirstAddress(const JsonScalar& level_list) const;

  const std::string_view text_;
  const RankTable& table_;
  std::map<std::string_view, std::uint32_t> node_of_name_;
  JsonMembers others_;  // of the outermost object
  const TableHead head_;
  const Form form_;
  JsonWriter writer_{text_};
  // (node, device) -> rank, for tables without rank ids; filled at first use.
  std::unordered_map<std::uint64_t, std::int32_t> implied_ranks_;
};

// Leaves in others_ what is copied: not what Write() writes itself, and not "assay", which
// describes the job. In the result, a null server_list would repeat the written one, and a reader
// would check the super_pod_list of another form against it.
void Conversion::DropOthers() {
  const std::string_view list = kFormLists[static_cast<std::size_t>(form_)];
  const auto dropped = [&](std::string_view key) {
    return key == list || (form_ != Form::kServers && key == "super_pod_list") ||
           IsOneOf(key, {"status", "version", "total", "server_count", "server_num", "assay",
                         "server_list"});
  };
  Drop(dropped, &others_);
}

// The version of the table. If it is absent, or the list is rank_list, the version that belongs to
// the list: a reader of the result derives the range of the device ids from it.
std::string Conversion::Version() const {
  if (form_ == Form::kRanks) return "2.0";
  if (head_.version.null() || head_.version.raw.empty()) {
    return head_.v2() ? "2.0" : form_ == Form::kNodes ? "1.1" : "1.0";
  }
  return head_.version.Text();
}

std::string Conversion::Total() const {
  const std::string_view raw = head_.total.raw;
  if (raw.size() > 10 || !base::ParseNumber<std::uint32_t>(raw)) return "1";
  return Digits(raw);
}

// Reads the host at offset and, unless others is null, its members that are copied: not what
// WriteServerMembers() writes itself, except server_name, which keeps its position.
HostObject Conversion::HostAt(std::size_t offset, JsonMembers* others) const {
  const HostShape& shape = ShapeOf(form_);
  JsonWalker walker(text_, offset);
  HostObject host = ReadHost(shape, walker, others);
  if (others == nullptr) return host;
  const bool groups = form_ == Form::kGroups;
  const auto dropped = [&](std::string_view key) {
    return key == shape.id || key == shape.devices ||
           IsOneOf(key, {"server_sn", "device", "server_id"}) ||
           (groups && IsOneOf(key, {"host_ip", "rank_id", "device_count", "device_num"}));
  };
  Drop(dropped, others);
  return host;
}

std::uint32_t Conversion::NodeOf(const HostObject& host) const {
  for (const JsonScalar* name : {&host.server_name, &host.id, &host.host_ip}) {
    if (name->raw.empty()) continue;
    const auto found = node_of_name_.find(name->Text());
    return found == node_of_name_.end() ? 0 : found->second;
  }
  const auto unnamed = node_of_name_.find("");
  return unnamed == node_of_name_.end() ? 0 : unnamed->second;
}

// 2.0: the node that net_instance_id of net_layer 0 names.
std::uint32_t Conversion::NodeOfRank(JsonWalker walker) const {
  std::string name;
  const JsonScalar levels = ReadDevice(walker).level_list;
  if (levels.type == JsonType::kArray) {
    JsonWalker(text_, levels.offset).Elements([&](std::size_t, JsonWalker& walker_at_level) {
      const LevelObject level = ReadLevel(walker_at_level);
      const bool names_node = Digits(level.net_layer.raw) == kNodeLayer;
      if (names_node && !level.net_instance_id.null()) name = level.net_instance_id.Text();
      return true;
    });
  }
  const auto found = node_of_name_.find(name);
  return found == node_of_name_.end() ? 0 : found->second;
}

void Conversion::AddHost(JsonWalker& walker, std::vector<Server>* servers) const {
  Server server;
  server.host = walker.offset();
  server.host_members = true;
  const HostObject host = HostAt(server.host);
  server.node = NodeOf(host);
  JsonWalker(text_, host.devices.offset).Elements([&](std::size_t, JsonWalker& device) {
    server.devices.push_back({device.offset(), {}, kNowhere});
    return true;
  });
  servers->push_back(std::move(server));
}

// An instance is a pod or a single device of a server; all instances of a node become one server.
// The other members of an instance are written with the server if it is the first instance of the
// node and has several devices, else with the first device of the instance.
void Conversion::AddInstance(JsonWalker& walker, std::vector<Server>* servers,
                             std::vector<std::size_t>* server_of_node) const {
  const std::size_t offset = walker.offset();
  const HostObject host = HostAt(offset);
  const std::uint32_t node = NodeOf(host);
  std::size_t& index = (*server_of_node)[node];
  const bool first = index == kNowhere;
  if (first) {
    index = servers->size();
    servers->push_back({node, offset, false, {}});
  }
  Server& server = (*servers)[index];
  const std::size_t before = server.devices.size();
  JsonWalker(text_, host.devices.offset).Elements([&](std::size_t, JsonWalker& device) {
    server.devices.push_back({device.offset(), host.rank_id, kNowhere});
    return true;
  });
  if (first && server.devices.size() > 1) {
    server.host_members = true;
  } else if (server.devices.size() > before) {
    server.devices[before].instance = offset;
  }
}

std::vector<Server> Conversion::Servers() const {
  std::vector<Server> servers;
  std::vector<std::size_t> server_of_node(table_.nodes.size(), kNowhere);
  JsonWalker list(text_, head_.list(form_).offset);
  if (form_ == Form::kGroups) {
    list.Elements([&](std::size_t, JsonWalker& group) {
      return group.Members([&](std::string_view key, JsonWalker& instances) {
        return key != "instance_list" || instances.Elements([&](std::size_t, JsonWalker& value) {
          AddInstance(value, &servers, &server_of_node);
          return true;
        });
      });
    });
  } else if (form_ == Form::kRanks) {
    list.Elements([&](std::size_t, JsonWalker& rank) {
      const std::uint32_t node = NodeOfRank(rank);
      std::size_t& index = server_of_node[node];
      if (index == kNowhere) {
        index = servers.size();
        servers.push_back({node, kNowhere, false, {}});
      }
      servers[index].devices.push_back({rank.offset(), {}, kNowhere});
      return true;
    });
  } else {
    list.Elements([&](std::size_t, JsonWalker& host) {
      AddHost(host, &servers);
      return true;
    });
  }
  return servers;
}

std::string Conversion::RankId(const Server& server, const Device& device, const JsonScalar& rank,
                               const JsonScalar& device_id) {
  if (!rank.null()) return Digits(rank.raw);
  if (!device.instance_rank.null()) return Digits(device.instance_rank.raw);
  const auto key = [](std::uint32_t node, std::int64_t id) {
    return (std::uint64_t{node} << 32) | static_cast<std::uint32_t>(id);
  };
  if (implied_ranks_.empty()) {
    for (const RankPlace& place : table_.ranks) {
      implied_ranks_.emplace(key(place.node, place.device), place.rank);
    }
  }
  const auto found = implied_ranks_.find(key(server.node, std::stoll(Digits(device_id.raw))));
  return found == implied_ranks_.end() ? "0" : std::to_string(found->second);
}

// 2.0: the first IP address of a layer other than the host's.
std::string Conversion::FirstAddress(const JsonScalar& level_list) const {
  std::string address;
  if (level_list.type != JsonType::kArray) return address;
  JsonWalker(text_, level_list.offset).Elements([&](std::size_t, JsonWalker& walker) {
    const LevelObject level = ReadLevel(walker);
    if (level.rank_addr_list.null() || Digits(level.net_layer.raw) == kHostLayer) return true;
    return JsonWalker(text_, level.rank_addr_list.offset)
        .Elements([&](std::size_t, JsonWalker& entry) {
          return entry.Members([&](std::string_view key, JsonWalker& value) {
            if (key != "addr") return true;
            std::string text = value.Scalar().Text();
            if (!base::IsIpAddress(text)) return true;
            address = std::move(text);
            return false;
          });
        });
  });
  return address;
}

void Conversion::WriteDevice(const Server& server, const Device& device) {
  JsonMembers others;
  JsonWalker walker(text_, device.offset);
  const DeviceObject read = ReadDevice(walker, &others);
  Drop(
      [](std::string_view key) {
        return IsOneOf(key, {"device_id", "rank_id", "rankid", "device_ip"});
      },
      &others);
  const JsonScalar& rank_id =
      read.rank_id.null() && form_ != Form::kRanks ? read.rankid : read.rank_id;
  writer_.OpenObject();
  const bool on_host = read.device_id.null() || read.device_id.raw == kHostDevice;
  writer_.StringMember("device_id", on_host ? kHostDevice : Digits(read.device_id.raw));
  if (!read.device_ip.null()) {
    writer_.Key("device_ip");
    writer_.Copy(read.device_ip.offset);
  } else {
    std::string address = form_ == Form::kRanks ? FirstAddress(read.level_list) : "";
    if (form_ == Form::kNodes && base::IsIpAddressList(read.rank_ip.Text()))
      address = read.rank_ip.Text();
    if (!address.empty()) writer_.StringMember("device_ip", address);
  }
  writer_.StringMember("rank_id", RankId(server, device, rank_id, read.device_id));
  if (device.instance != kNowhere) {
    const JsonMembers more = InstanceMembers(device, others);
    others.insert(others.end(), more.begin(), more.end());
  }
  std::size_t room = kMembers;
  WriteMembers(others, &room);
  writer_.CloseObject();
}

JsonMembers Conversion::InstanceMembers(const Device& device, const JsonMembers& own) const {
  std::set<std::string_view> taken = {"device_id", "device_ip", "rank_id", "rankid", "server_name"};
  for (const JsonMember& member : own) taken.insert(member.key);
  JsonMembers members;
  (void)HostAt(device.instance, &members);
  Drop([&](std::string_view key) { return taken.count(key) > 0; }, &members);
  return members;
}

void Conversion::WriteMembers(const JsonMembers& members, std::size_t* room) {
  for (const JsonMember& member : members) {
    if (*room == 0) return;
    if (JsonDepth(text_, member.offset) > kDepth) continue;
    --*room;
    writer_.Key(member.key);
    writer_.Copy(member.offset);
  }
}

void Conversion::WriteServerMembers(const Server& server, const HostObject& host,
                                    const JsonMembers& others) {
  const TableNode& node = table_.nodes[server.node];
  const std::string id = host.id.Text();
  writer_.StringMember("server_id", id.empty() ? node.name : id);
  if (form_ == Form::kGroups && !host.host_ip.null()) {
    writer_.Key("host_ip");
    writer_.Copy(host.host_ip.offset);
  } else if (form_ == Form::kRanks && !node.name.empty() && !node.aliases.empty()) {
    writer_.StringMember("host_ip", node.aliases.front());
  }
  // If the table has server_name, it keeps its position among the other members.
  const auto name = std::find_if(others.begin(), others.end(), [](const JsonMember& member) {
    return member.key == "server_name";
  });
  std::size_t room = server.host_members ? kMembers : 0;
  WriteMembers({others.begin(), name}, &room);
  writer_.StringMember("server_name", node.name);
  if (host.server_sn.null() || JsonDepth(text_, host.server_sn.offset) > kDepth) {
    writer_.StringMember("server_sn", "");
  } else {
    writer_.Key("server_sn");
    writer_.Copy(host.server_sn.offset);
  }
  if (name != others.end()) WriteMembers({name + 1, others.end()}, &room);
}

void Conversion::WriteServer(const Server& server) {
  writer_.OpenObject();
  writer_.Key("device");
  writer_.OpenArray();
  for (const Device& device : server.devices) WriteDevice(server, device);
  writer_.CloseArray();
  JsonMembers others;
  const HostObject host = server.host == kNowhere ? HostObject{} : HostAt(server.host, &others);
  WriteServerMembers(server, host, others);
  writer_.CloseObject();
}

std::string Conversion::Write() {
  const std::vector<Server> servers = Servers();
  const std::string count = std::to_string(servers.size());
  writer_.OpenObject();
  writer_.StringMember("status", "complete");
  writer_.Key("server_list");
  writer_.OpenArray();
  for (const Server& server : servers) WriteServer(server);
  writer_.CloseArray();
  writer_.StringMember("server_count", count);
  if (!head_.server_num.null()) writer_.StringMember("server_num", count);
  writer_.Key("total");
  writer_.Number(Total());
  writer_.StringMember("version", Version());
  std::size_t room = kMembers;
  WriteMembers(others_, &room);
  writer_.CloseObject();
  return writer_.Take();
}

}  // namespace

std::string HcclJson(std::string_view table_text, const RankTable& table) {
  if (table_text.empty() || table.ranks.empty()) return std::string(kHcclInitializing);
  return Conversion(table_text, table).Write();
}

}  // namespace assay::rank_table
