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
