#include "tests/rank_table/table_writer.h"

#include <algorithm>

namespace assay::rank_table {

WrittenTable TableWriter::Write(WrittenForm form) {
  const WrittenTable table = Draw(form);
  const Json ready = form == WrittenForm::kClusterd && Chance(80) ? "complete" : "completed";
  std::vector<Member> members = {{"status", ready}, {"extra", Object({{"rank_id", "9"}})}};
  const auto nodes = static_cast<std::int64_t>(table.nodes.size());
  const auto ranks = static_cast<std::int64_t>(table.ranks.size());
  switch (form) {
    case WrittenForm::kServers:
    case WrittenForm::kClusterd:
    case WrittenForm::kOxc: {
      const Json servers = Servers(table, form);
      if (form != WrittenForm::kOxc) {
        members.push_back({"server_count", Number(static_cast<std::int64_t>(servers.size()))});
      }
      members.push_back({"server_list", servers});
      if (form == WrittenForm::kClusterd) members.push_back({"total", 1});
      if (form == WrittenForm::kServers) members.push_back({"version", Chance(50) ? "1.0" : "1.2"});
      if (form == WrittenForm::kOxc) members.push_back({"version", "1.4"});
      break;
    }
    case WrittenForm::kLab:
    case WrittenForm::kCloud: {
      const Json instances = Instances(table, form == WrittenForm::kLab);
      const Json group =
          Object({{"instance_count", Number(static_cast<std::int64_t>(instances.size()))},
                  {"instance_list", instances},
                  {"device_count", Number(ranks)},
                  {"server_num", Number(nodes)}});
      members.push_back({"group_list", Json::array({group})});
      members.push_back({"group_count", Number(1)});
      break;
    }
    case WrittenForm::kNodes: {
      Json list = Json::array();
      for (std::uint32_t node = 0; node < table.nodes.size(); ++node) {
        list.push_back(
            Object({{"node_addr", table.nodes[node]}, {"ranks", Devices(table, node, form)}}));
      }
      members.push_back({"node_list", list});
      members.push_back({"version", "1.1"});
      break;
    }
    case WrittenForm::kRanks:
      members.push_back({"rank_list", Ranks(table)});
      members.push_back({"rank_count", Number(ranks)});
      members.push_back({"version", "2.0"});
      break;
  }
  WrittenTable written = table;
  written.text = Text(Object(members));
  return written;
}

// Draws the mapping. The node names sort differently as text than by their numbers.
WrittenTable TableWriter::Draw(WrittenForm form) {
  constexpr const char* kNames[] = {"node_", "192.0.2.", "节点-", "a_\"quoted\\\"_", "2001:db8::"};
  const std::string prefix = kNames[Below(5)];
  WrittenTable table;
  const std::size_t nodes = 1 + Below(12);
  for (std::size_t node = 0; node < nodes; ++node) {
    table.nodes.push_back(prefix + std::to_string(node));
  }
  if (form == WrittenForm::kCloud) std::sort(table.nodes.begin(), table.nodes.end());
  const int device_limit = form == WrittenForm::kRanks ? 65 : 16;
  std::vector<std::int32_t> ranks;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::vector<std::int32_t> devices;
    for (int device = 0; device < device_limit; ++device) devices.push_back(device);
    std::shuffle(devices.begin(), devices.end(), random_);
    devices.resize(1 + Below(8));
    if (form == WrittenForm::kCloud) std::sort(devices.begin(), devices.end());
    for (const std::int32_t device : devices) {
      table.ranks.push_back({0, device, node});
      ranks.push_back(static_cast<std::int32_t>(ranks.size()));
    }
  }
  if (form != WrittenForm::kCloud && Chance(30)) std::shuffle(ranks.begin(), ranks.end(), random_);
  const bool gaps = form == WrittenForm::kClusterd && Chance(30);
  for (std::size_t i = 0; i < ranks.size(); ++i) table.ranks[i].rank = ranks[i] * (gaps ? 3 : 1);
  std::sort(table.ranks.begin(), table.ranks.end(),
            [](const RankPlace& a, const RankPlace& b) { return a.rank < b.rank; });
  return table;
}

TableWriter::Json TableWriter::Number(std::int64_t value) {
  if (Chance(50)) return value;
  return (Chance(10) ? "0" : "") + std::to_string(value);
}

TableWriter::Json TableWriter::Object(std::vector<Member> members) {
  if (Chance(20)) members.push_back({"unknown", Json::array({1, Json::object(), "x"})});
  if (Chance(20)) members.push_back({"nothing", nullptr});
  std::shuffle(members.begin(), members.end(), random_);
  Json object = Json::object();
  for (Member& member : members) object[member.key] = std::move(member.value);
  return object;
}

TableWriter::Json TableWriter::Devices(const WrittenTable& table, std::uint32_t node,
                                       WrittenForm form) {
  std::vector<Json> devices;
  for (const RankPlace& place : table.ranks) {
    if (place.node != node) continue;
    std::vector<Member> members = {{"device_id", Number(place.device)}};
    if (form != WrittenForm::kCloud) {
      members.push_back({form == WrittenForm::kOxc ? "rankid" : "rank_id", Number(place.rank)});
    }
    if (Chance(30)) members.push_back({"device_ip", Chance(50) ? "" : "198.51.100.1"});
    if (Chance(1)) members.push_back({"device_ip", "-.-.-.-"});
    devices.push_back(Object(members));
  }
  std::shuffle(devices.begin(), devices.end(), random_);
  return devices;
}

TableWriter::Json TableWriter::Servers(const WrittenTable& table, WrittenForm form) {
  std::vector<Json> servers;
  for (std::uint32_t node = 0; node < table.nodes.size(); ++node) {
    const bool clusterd = form == WrittenForm::kClusterd;
    const Json devices = Devices(table, node, form);
    // A ClusterD table has two entries for two pods of a job on one node.
    const std::size_t split = clusterd && devices.size() > 1 && Chance(30) ? 1 : 0;
    for (std::size_t part = 0; part <= split; ++part) {
      Json own = devices;
      if (split > 0) {
        own = Json::array();
        for (std::size_t i = part; i < devices.size(); i += 2) own.push_back(devices[i]);
      }
      std::vector<Member> members = {{clusterd ? "server_name" : "server_id", table.nodes[node]},
                                     {"device", own}};
      if (clusterd) members.push_back({"server_id", "pod-" + std::to_string(Below(1000))});
      if (Chance(50)) members.push_back({"host_ip", "198.51.100." + std::to_string(node)});
      servers.push_back(Object(members));
    }
  }
  std::shuffle(servers.begin(), servers.end(), random_);
  return servers;
}

// "lab": one device per instance, and the instance has the rank id. "cloud": no rank ids.
TableWriter::Json TableWriter::Instances(const WrittenTable& table, bool ranks) {
  std::vector<Json> instances;
  for (std::uint32_t node = 0; node < table.nodes.size(); ++node) {
    if (!ranks) {
      instances.push_back(Object({{"server_id", table.nodes[node]},
                                  {"devices", Devices(table, node, WrittenForm::kCloud)}}));
    }
    for (const RankPlace& place : table.ranks) {
      if (!ranks || place.node != node) continue;
      const Json device = Object({{"device_id", Number(place.device)}});
      instances.push_back(Object({{"server_id", table.nodes[node]},
                                  {"rank_id", Number(place.rank)},
                                  {"devices", Json::array({device})}}));
    }
  }
  std::shuffle(instances.begin(), instances.end(), random_);
  return instances;
}

TableWriter::Json TableWriter::Ranks(const WrittenTable& table) {
  std::vector<Json> ranks;
  for (const RankPlace& place : table.ranks) {
    std::vector<Json> levels = {
        Object({{"net_layer", Number(0)}, {"net_instance_id", table.nodes[place.node]}}),
        Object({{"net_layer", Number(1)}, {"net_instance_id", "az0"}})};
    std::shuffle(levels.begin(), levels.end(), random_);
    ranks.push_back(Object({{"rank_id", Number(place.rank)},
                            {"device_id", Number(place.device)},
                            {"level_list", levels}}));
  }
  std::shuffle(ranks.begin(), ranks.end(), random_);
  return ranks;
}

std::string TableWriter::Text(const Json& json) {
  const int indent = static_cast<int>(Below(6)) - 1;
  std::string text = json.dump(indent, Chance(20) ? '\t' : ' ', Chance(50));
  if (Chance(20)) text.insert(0, "\xEF\xBB\xBF");
  if (Chance(20)) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
      text.insert(at, 1, '\r');
    }
  }
  if (Chance(50)) text += '\n';
  return text;
}

}  // namespace assay::rank_table
