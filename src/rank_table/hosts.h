// Reads hosts with lists of devices: the servers, instances and nodes of all forms except 2.0.
// Internal to src/rank_table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "rank_table/forms.h"
#include "rank_table/json_text.h"

namespace assay::rank_table {

// The field names of a form, and the rules that differ between the forms.
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

struct HostObject {
  std::size_t offset = 0;
  JsonScalar server_name, id, host_ip, rank_id, device_count, device_num, devices;
};

struct DeviceObject {
  std::size_t offset = 0;
  JsonScalar device_id, rank_id, rankid, device_ip, super_device_id;
};

// Reads the hosts of one list, one by one, into the builder.
// REQUIRES: the constructor's arguments outlive it.
class HostReader {
 public:
  HostReader(const TableHead& head, const HostShape& shape, TableBuilder& builder);

  // Reads the host at walker. Returns false after builder.Fail(). label: "server 3", for messages.
  // REQUIRES: walker is at an object.
  bool Read(const std::string& label, JsonWalker& walker);

  const HostObject& last() const { return host_; }
  bool any_server_name() const { return any_server_name_; }
  std::size_t node_count() const { return nodes_.size(); }  // distinct nodes

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

}  // namespace assay::rank_table
