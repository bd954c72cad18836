#include "rank_table/hccl_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "rank_table/json_text.h"
#include "rank_table/json_writer.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kNowhere = SIZE_MAX;
constexpr std::string_view kHostLayer = "3";  // 2.0: this net_layer has the host's addresses
// The limits of a reader of the result (JsonLimits), less the members and levels added here.
constexpr std::size_t kMembers = 9'000;  // copied into one object
constexpr std::size_t kDepth = 48;       // of one copied value

enum class Form { kServers, kRanks, kGroups, kNodes };

struct Head {
  Form form = Form::kServers;
  JsonScalar version, total, list;
  bool has_rank_list = false;
  bool has_server_num = false;
  std::vector<JsonMember> others;
};

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

struct Host {
  JsonScalar server_name, server_sn, id, host_ip, rank_id, devices;
  std::vector<JsonMember> others;
};

std::string Digits(std::string_view raw) {
  raw.remove_prefix(std::min(raw.find_first_not_of('0'), raw.size()));
  return raw.empty() ? "0" : std::string(raw);
}

class Conversion {
 public:
  Conversion(std::string_view text, const RankTable& table) : text_(text), table_(table) {
    for (std::uint32_t node = 0; node < table.nodes.size(); ++node) {
      node_of_name_.emplace(table.nodes[node].name, node);
    }
    ReadHead();
  }

  std::string Write();

 private:
  void ReadHead();
  std::string Version() const;
  std::string Total() const;

  std::vector<Server> Servers() const;
  void AddHost(JsonWalker& walker, std::vector<Server>* servers) const;
  void AddInstance(JsonWalker& walker, std::vector<Server>* servers,
                   std::vector<std::size_t>* server_of_node) const;
  std::uint32_t NodeOf(const Host& host) const;
  std::uint32_t NodeOfRank(JsonWalker walker) const;
  Host ReadHost(std::size_t offset) const;

  void WriteServer(const Server& server);
  void WriteServerMembers(const Server& server, const Host& host);
  void WriteDevice(const Server& server, const Device& device);
  // Writes at most *room members and subtracts them from *room.
  void WriteMembers(const std::vector<JsonMember>& members, std::size_t* room);
  std::vector<JsonMember> InstanceMembers(const Device& device,
                                          const std::vector<JsonMember>& own) const;
  std::string RankId(const Server& server, const Device& device, const JsonScalar& rank,
                     const JsonScalar& device_id);
  std::string FirstAddress(const JsonScalar& level_list) const;

  const std::string_view text_;
  const RankTable& table_;
  std::map<std::string_view, std::uint32_t> node_of_name_;
  Head head_;
  JsonWriter writer_{text_};
  // (node, device) -> rank, for tables without rank ids; filled at first use.
  std::unordered_map<std::uint64_t, std::int32_t> implied_ranks_;
};

void Conversion::ReadHead() {
  JsonScalar lists[4];  // in order of precedence: the first list in the table decides the form
  constexpr std::string_view kLists[] = {"server_list", "rank_list", "group_list", "node_list"};
  std::size_t list_member[4] = {kNowhere, kNowhere, kNowhere, kNowhere};
  JsonWalker(text_).Members([&](std::string_view key, JsonWalker& value) {
    const std::size_t offset = value.offset();
    if (key == "version") head_.version = value.Scalar();
    if (key == "total") head_.total = value.Scalar();
    if (key == "server_num") head_.has_server_num = value.type() != JsonType::kNull;
    for (const std::string_view known :
         {"status", "version", "total", "server_count", "server_num", "assay"}) {
      if (key == known) return true;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (key != kLists[i]) continue;
      lists[i] = value.Scalar();
      list_member[i] = head_.others.size();
    }
    head_.others.push_back({std::string(key), offset});
    return true;
  });
  std::size_t form = 0;
  while (form < 3 && lists[form].null()) ++form;
  head_.form = static_cast<Form>(form);
  head_.list = lists[form];
  head_.has_rank_list = !lists[1].null();
  if (list_member[form] != kNowhere) {
    head_.others.erase(head_.others.begin() + static_cast<std::ptrdiff_t>(list_member[form]));
  }
  // In the result, a null server_list would repeat the written one, and a reader would check the
  // super_pod_list of another form against it.
  const auto drop = [&](const JsonMember& member) {
    if (member.key == "server_list") return true;
    return head_.form != Form::kServers && member.key == "super_pod_list";
  };
  head_.others.erase(std::remove_if(head_.others.begin(), head_.others.end(), drop),
                     head_.others.end());
}

// The version of the table. If it is absent, or the list is rank_list, the version that belongs to
// the list: a reader of the result derives the range of the device ids from it.
std::string Conversion::Version() const {
  const bool v2 = head_.version.raw == "2.0" || head_.has_rank_list;
  if (head_.form == Form::kRanks) return "2.0";
  if (head_.version.null() || head_.version.raw.empty()) {
    return v2 ? "2.0" : head_.form == Form::kNodes ? "1.1" : "1.0";
  }
  return head_.version.Text();
}

std::string Conversion::Total() const {
  const std::string_view raw = head_.total.raw;
  const bool number = !raw.empty() && raw.size() <= 10 &&
                      raw.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number || std::stoull(std::string(raw)) > UINT32_MAX) return "1";
  return Digits(raw);
}

Host Conversion::ReadHost(std::size_t offset) const {
  const bool nodes = head_.form == Form::kNodes;
  const bool groups = head_.form == Form::kGroups;
  const std::string_view id = nodes ? "node_addr" : "server_id";
  const std::string_view devices = nodes ? "ranks" : groups ? "devices" : "device";
  Host host;
  JsonWalker(text_, offset).Members([&](std::string_view key, JsonWalker& value) {
    const std::size_t at = value.offset();
    JsonScalar* field = key == id                    ? &host.id
                        : key == devices             ? &host.devices
                        : key == "server_name"       ? &host.server_name
                        : key == "server_sn"         ? &host.server_sn
                        : key == "host_ip"           ? &host.host_ip
                        : key == "rank_id" && groups ? &host.rank_id
                                                     : nullptr;
    if (field != nullptr) *field = value.Scalar();
    const bool kept =
        field == nullptr || field == &host.server_name || (field == &host.host_ip && !groups);
    if (!kept || key == "device" || key == "server_id") return true;
    if (groups && (key == "device_count" || key == "device_num")) return true;
    host.others.push_back({std::string(key), at});
    return true;
  });
  return host;
}

std::uint32_t Conversion::NodeOf(const Host& host) const {
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
  walker.Members([&](std::string_view key, JsonWalker& levels) {
    if (key != "level_list" || levels.type() != JsonType::kArray) return true;
    return levels.Elements([&](std::size_t, JsonWalker& level) {
      JsonScalar layer, instance;
      level.Members([&](std::string_view member, JsonWalker& value) {
        if (member == "net_layer") layer = value.Scalar();
        if (member == "net_instance_id") instance = value.Scalar();
        return true;
      });
      if (Digits(layer.raw) == "0" && !instance.null()) name = instance.Text();
      return true;
    });
  });
  const auto found = node_of_name_.find(name);
  return found == node_of_name_.end() ? 0 : found->second;
}

void Conversion::AddHost(JsonWalker& walker, std::vector<Server>* servers) const {
  Server server;
  server.host = walker.offset();
  server.host_members = true;
  const Host host = ReadHost(server.host);
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
  const Host host = ReadHost(offset);
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
  JsonWalker list(text_, head_.list.offset);
  if (head_.form == Form::kGroups) {
    list.Elements([&](std::size_t, JsonWalker& group) {
      return group.Members([&](std::string_view key, JsonWalker& instances) {
        return key != "instance_list" || instances.Elements([&](std::size_t, JsonWalker& value) {
          AddInstance(value, &servers, &server_of_node);
          return true;
        });
      });
    });
  } else if (head_.form == Form::kRanks) {
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
  JsonWalker(text_, level_list.offset).Elements([&](std::size_t, JsonWalker& level) {
    JsonScalar layer, addresses;
    level.Members([&](std::string_view key, JsonWalker& value) {
      if (key == "net_layer") layer = value.Scalar();
      if (key == "rank_addr_list") addresses = value.Scalar();
      return true;
    });
    if (addresses.null() || Digits(layer.raw) == kHostLayer) return true;
    return JsonWalker(text_, addresses.offset).Elements([&](std::size_t, JsonWalker& entry) {
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
  JsonScalar device_id, rank_id, rankid, device_ip, rank_ip, level_list;
  std::vector<JsonMember> others;
  JsonWalker(text_, device.offset).Members([&](std::string_view key, JsonWalker& value) {
    const std::size_t at = value.offset();
    JsonScalar* field = key == "device_id"    ? &device_id
                        : key == "rank_id"    ? &rank_id
                        : key == "rankid"     ? &rankid
                        : key == "device_ip"  ? &device_ip
                        : key == "rank_ip"    ? &rank_ip
                        : key == "level_list" ? &level_list
                                              : nullptr;
    if (field != nullptr) *field = value.Scalar();
    if (field == nullptr || field == &rank_ip || field == &level_list) {
      others.push_back({std::string(key), at});
    }
    return true;
  });
  if (rank_id.null() && head_.form != Form::kRanks) rank_id = rankid;
  writer_.OpenObject();
  const bool on_host = device_id.null() || device_id.raw == kHostDevice;
  writer_.StringMember("device_id", on_host ? kHostDevice : Digits(device_id.raw));
  if (!device_ip.null()) {
    writer_.Key("device_ip");
    writer_.Copy(device_ip.offset);
  } else {
    std::string address = head_.form == Form::kRanks ? FirstAddress(level_list) : "";
    if (head_.form == Form::kNodes && base::IsIpAddressList(rank_ip.Text()))
      address = rank_ip.Text();
    if (!address.empty()) writer_.StringMember("device_ip", address);
  }
  writer_.StringMember("rank_id", RankId(server, device, rank_id, device_id));
  if (device.instance != kNowhere) {
    const std::vector<JsonMember> more = InstanceMembers(device, others);
    others.insert(others.end(), more.begin(), more.end());
  }
  std::size_t room = kMembers;
  WriteMembers(others, &room);
  writer_.CloseObject();
}

std::vector<JsonMember> Conversion::InstanceMembers(const Device& device,
                                                    const std::vector<JsonMember>& own) const {
  std::set<std::string_view> taken = {"device_id", "device_ip", "rank_id", "rankid", "server_name"};
  for (const JsonMember& member : own) taken.insert(member.key);
  std::vector<JsonMember> members = ReadHost(device.instance).others;
  const auto is_taken = [&](const JsonMember& member) { return taken.count(member.key) > 0; };
  members.erase(std::remove_if(members.begin(), members.end(), is_taken), members.end());
  return members;
}

void Conversion::WriteMembers(const std::vector<JsonMember>& members, std::size_t* room) {
  for (const JsonMember& member : members) {
    if (*room == 0) return;
    if (JsonDepth(text_, member.offset) > kDepth) continue;
    --*room;
    writer_.Key(member.key);
    writer_.Copy(member.offset);
  }
}

void Conversion::WriteServerMembers(const Server& server, const Host& host) {
  const TableNode& node = table_.nodes[server.node];
  const std::string id = host.id.Text();
  writer_.StringMember("server_id", id.empty() ? node.name : id);
  if (head_.form == Form::kGroups && !host.host_ip.null()) {
    writer_.Key("host_ip");
    writer_.Copy(host.host_ip.offset);
  } else if (head_.form == Form::kRanks && !node.name.empty() && !node.aliases.empty()) {
    writer_.StringMember("host_ip", node.aliases.front());
  }
  // If the table has server_name, it keeps its position among the other members.
  const std::vector<JsonMember>& others = host.others;
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
  WriteServerMembers(server, server.host == kNowhere ? Host{} : ReadHost(server.host));
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
  if (head_.has_server_num) writer_.StringMember("server_num", count);
  writer_.Key("total");
  writer_.Number(Total());
  writer_.StringMember("version", Version());
  std::size_t room = kMembers;
  WriteMembers(head_.others, &room);
  writer_.CloseObject();
  return writer_.Take();
}

}  // namespace

std::string HcclJson(std::string_view table_text, const RankTable& table) {
  if (table_text.empty() || table.ranks.empty()) return std::string(kHcclInitializing);
  return Conversion(table_text, table).Write();
}

}  // namespace assay::rank_table
