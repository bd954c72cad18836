#include "rank_table/hosts.h"

#include "base/ip_address.h"
#include "base/text.h"

namespace assay::rank_table {
HostReader::HostReader(const TableHead& head, const HostShape& shape, TableBuilder& builder)
    : head_(head), shape_(shape), builder_(builder) {}

bool HostReader::Read(const std::string& label, JsonWalker& walker) {
  host_ = ReadHost(shape_, walker);
  const TableBuilder::NamedField fields[] = {
      {"server_name", &host_.server_name}, {shape_.id, &host_.id}, {"host_ip", &host_.host_ip}};
  NodeName name;
  if (!builder_.ReadNodeName(fields, label, &name)) return false;
  if (name.text.empty() && !(shape_.converted && head_.version.raw == "2.0")) {
    return builder_.FailAt(
        host_.offset, label + " has no server_name, " + std::string(shape_.id) + " or host_ip");
  }
  any_server_name_ = any_server_name_ || name.key == "server_name";
  const std::uint32_t node = builder_.AddNode(name, host_.offset);
  nodes_.insert(node);
  if (host_.host_ip.type == JsonType::kString) {
    builder_.AddHostAddress(node, host_.host_ip.Text());
  }
  return ReadDevices(label + " (" + base::Shown(name.text) + ")", name.text.empty(), node);
}

bool HostReader::ReadDevices(const std::string& label, bool unnamed, std::uint32_t node) {
  const bool converted = shape_.converted && head_.status.raw == "complete";
  const std::size_t before = builder_.rank_count();
  const bool read =
      ForEachObject(host_.devices, shape_.devices, label, head_.text, builder_,
                    [&](std::size_t, JsonWalker& walker) {
                      DeviceObject device = ReadDevice(walker);
                      const JsonScalar* rank = RankOf(device, label);
                      if (rank == nullptr) return false;
                      Judge(device);
                      if (unnamed) builder_.ranks_without_node.Add(base::Shown(rank->raw));
                      const bool on_host = converted && device.device_id.raw == kHostDevice;
                      if (on_host) device.device_id = {};
                      return builder_.AddRank(node, *rank, device.device_id,
                                              on_host || shape_.device_optional, device.offset);
                    });
  if (!read) return false;
  const std::size_t devices = builder_.rank_count() - before;
  if (!host_.rank_id.null() && devices > 1) {
    return builder_.FailAt(host_.rank_id.offset, label + " has one rank_id but " +
                                                     base::Count(devices, "device", "devices"));
  }
  const std::string has =
      std::string(shape_.devices) + " has " + base::Count(devices, "entry", "entries");
  return builder_.DeclaredCount(host_.device_count, "device_count", label, devices, has) &&
         builder_.DeclaredCount(host_.device_num, "device_num", label, devices, has);
}

const JsonScalar* HostReader::RankOf(const DeviceObject& device, const std::string& label) {
  if (!device.rank_id.null() && !device.rankid.null() && device.rank_id.raw != device.rankid.raw) {
    builder_.FailAt(device.offset, label + ": rank_id " + ValueText(device.rank_id) +
                                       " and rankid " + ValueText(device.rankid) + " differ");
    return nullptr;
  }
  if (!device.rank_id.null()) return &device.rank_id;
  return device.rankid.null() ? &host_.rank_id : &device.rankid;
}

// Checks fields that do not affect the mapping; they cause at most a warning.
void HostReader::Judge(const DeviceObject& device) {
  const JsonScalar& ip = device.device_ip;
  const bool is_text = ip.type == JsonType::kString;
  const bool silent =
      ip.null() || (is_text && (ip.raw.empty() || base::IsIpAddressList(ip.Text())));
  if (!silent) builder_.device_ips.Add(ValueText(ip));
  const JsonScalar& super_id = device.super_device_id;
  if (head_.version.raw == "1.2" && super_id.type == JsonType::kString && super_id.raw.empty()) {
    builder_.super_device_ids.Add({});
  }
}

}  // namespace assay::rank_table
