// Reads hosts with lists of devices: the servers, instances and nodes of all forms but 2.0.
// Part of rank_table.cc; nothing else includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "rank_table/forms.h"
#include "rank_table/json_text.h"

namespace assay {

// How the forms call the same things, and what differs.
struct HostShape {
  std::string_view id;       // a host's identifying field
  std::string_view devices;  // its list
  bool host_rank = false;    // "lab" tables: a rank_id on the host, which then has one device
  bool device_optional = false;
  // What HcclJson() makes of other forms: servers without any name (of 2.0), kHostDevice.
  bool converted = false;
};
inline constexpr HostShape kServerShape{"server_id", "device", false, false, true};
inline constexpr HostShape kInstanceShape{"server_id", "devices", true};
inline constexpr HostShape kNodeShape{"node_addr", "ranks", false, true};

struct HostObject {
  std::size_t offset = 0;
  JsonScalar server_name, id, host_ip, rank_id, device_count, device_num, devices;
};

struct DeviceObject {
  std::size_t offset = 0;
  JsonScalar device_id, rank_id, rankid, device_ip, super_device_id;
};

// Reads the hosts of one list, one by one, into the builder. Both outlive it.
class HostReader {
 public:
  HostReader(const TableHead& head, const HostShape& shape, TableBuilder& builder);

  // The host at walker, which is an object. label: "server 3". False: failed.
  bool Read(const std::string& label, JsonWalker& walker);

  const HostObject& last() const { return host_; }
  bool any_server_name() const { return any_server_name_; }
  std::size_t node_count() const { return nodes_.size(); }  // distinct ones

 private:
  bool ReadDevices(const std::string& label, bool unnamed, std::uint32_t node);
  const JsonScalar* RankOf(const DeviceObject& device, const std::string& label);
  void Judge(const DeviceObject& device);

  const TableHead& head_;
  const HostShape& shape_;
  TableBuilder& builder_;
  HostObject host_;
  bool any_server_name_ = false;
  std::set<std::uint32_t> nodes_;
};

}  // namespace assay
