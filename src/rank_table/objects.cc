#include "rank_table/objects.h"

#include <algorithm>
#include <span>

#include "base/text.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kListedKeys = 8;

template <class Object>
struct Field {
  std::string_view key;
  JsonScalar Object::*field;
};

template <class Object>
void ReadFields(JsonWalker& walker, std::span<const Field<Object>> fields, Object* object,
                JsonMembers* members) {
  walker.Members([&](std::string_view key, JsonWalker& value) {
    if (members != nullptr) members->push_back({std::string(key), value.offset()});
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [key](const Field<Object>& one) { return one.key == key; });
    if (field != fields.end()) object->*(field->field) = value.Scalar();
    return true;
  });
}

constexpr Field<TableHead> kHeadFields[] = {
    {"status", &TableHead::status},
    {"version", &TableHead::version},
    {"total", &TableHead::total},
    {"server_count", &TableHead::server_count},
    {"server_num", &TableHead::server_num},
    {"rank_count", &TableHead::rank_count},
    {"device_count", &TableHead::device_count},
    {"device_num", &TableHead::device_num},
    {"group_count", &TableHead::group_count},
    {"server_list", &TableHead::server_list},
    {"rank_list", &TableHead::rank_list},
    {"group_list", &TableHead::group_list},
    {"node_list", &TableHead::node_list},
    {"super_pod_list", &TableHead::super_pod_list},
    {"server_group_list", &TableHead::server_group_list},
    {"prefill_device_list", &TableHead::prefill_device_list},
    {"decode_device_list", &TableHead::decode_device_list},
};

constexpr JsonScalar TableHead::*kLists[] = {  // [Form]
    &TableHead::server_list, &TableHead::rank_list, &TableHead::group_list, &TableHead::node_list};

constexpr Field<DeviceObject> kDeviceFields[] = {
    {"device_id", &DeviceObject::device_id},   {"rank_id", &DeviceObject::rank_id},
    {"rankid", &DeviceObject::rankid},         {"device_ip", &DeviceObject::device_ip},
    {"rank_ip", &DeviceObject::rank_ip},       {"super_device_id", &DeviceObject::super_device_id},
    {"level_list", &DeviceObject::level_list},
};

constexpr Field<LevelObject> kLevelFields[] = {
    {"net_layer", &LevelObject::net_layer},
    {"net_instance_id", &LevelObject::net_instance_id},
    {"rank_addr_list", &LevelObject::rank_addr_list},
};

}  // namespace

const JsonScalar& TableHead::list(Form form) const {
  return this->*kLists[static_cast<std::size_t>(form)];
}

Form TableHead::form() const {
  for (const Form form : {Form::kServers, Form::kRanks, Form::kGroups}) {
    if (!list(form).null()) return form;
  }
  return Form::kNodes;
}

TableHead ReadHead(std::string_view text, JsonMembers* members) {
  TableHead head;
  head.text = text;
  JsonMembers all;
  JsonWalker walker(text);
  ReadFields<TableHead>(walker, kHeadFields, &head, &all);
  for (std::size_t i = 0; i < std::min(all.size(), kListedKeys); ++i) {
    head.keys += (i > 0 ? ", " : "") + base::Shown(all[i].key, 32);
  }
  if (all.size() > kListedKeys) {
    head.keys += " and " + std::to_string(all.size() - kListedKeys) + " more";
  }
  if (members != nullptr) *members = std::move(all);
  return head;
}

HostObject ReadHost(const HostShape& shape, JsonWalker& walker, JsonMembers* members) {
  const Field<HostObject> fields[] = {
      {shape.id, &HostObject::id},
      {shape.devices, &HostObject::devices},
      {"server_name", &HostObject::server_name},
      {"server_sn", &HostObject::server_sn},
      {"host_ip", &HostObject::host_ip},
      {"device_count", &HostObject::device_count},
      {"device_num", &HostObject::device_num},
      {"rank_id", &HostObject::rank_id},
  };
  HostObject host;
  host.offset = walker.offset();
  const std::span<const Field<HostObject>> all(fields);
  ReadFields<HostObject>(walker, shape.host_rank ? all : all.first(all.size() - 1), &host, members);
  return host;
}

DeviceObject ReadDevice(JsonWalker& walker, JsonMembers* members) {
  DeviceObject device;
  device.offset = walker.offset();
  ReadFields<DeviceObject>(walker, kDeviceFields, &device, members);
  return device;
}

LevelObject ReadLevel(JsonWalker& walker) {
  LevelObject level;
  level.offset = walker.offset();
  ReadFields<LevelObject>(walker, kLevelFields, &level, nullptr);
  return level;
}

}  // namespace assay::rank_table
