#include "rank_table/other_files.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "rank_table/json_text.h"

namespace assay::rank_table {
namespace {

constexpr std::string_view kTableKey = "hccl.json";  // of ascend-operator and ClusterD
constexpr std::size_t kShownKeys = 8;
constexpr std::size_t kShownBytes = 32;  // of one key

// The members of a Kubernetes object.
struct KubernetesObject {
  JsonScalar kind, metadata, data, items;
};

KubernetesObject ReadObject(std::string_view json) {
  KubernetesObject object;
  JsonWalker(json).Members([&](std::string_view key, JsonWalker& value) {
    JsonScalar* field = key == "kind"       ? &object.kind
                        : key == "metadata" ? &object.metadata
                        : key == "data"     ? &object.data
                        : key == "items"    ? &object.items
                                            : nullptr;
    if (field != nullptr) *field = value.Scalar();
    return true;
  });
  return object;
}

std::string NameOf(std::string_view json, const JsonScalar& metadata) {
  std::string name;
  if (metadata.type != JsonType::kObject) return name;
  JsonWalker(json, metadata.offset).Members([&](std::string_view key, JsonWalker& value) {
    if (key == "name") name = value.Scalar().Text();
    return true;
  });
  return name;
}

bool LooksLikeObject(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

std::string Place(std::string_view key) { return "data[" + base::Quoted(key, kShownBytes) + "]"; }

// Appends a key to a list for messages, of which the first few keys are shown.
void List(std::string_view key, std::size_t count, std::string* keys) {
  if (count > kShownKeys) return;
  if (count == kShownKeys) {
    *keys += " ...";
  } else {
    *keys += (count > 0 ? ", " : "") + base::Shown(key, kShownBytes);
  }
}

// Finds the table among the members of data.
void FindTable(std::string_view json, const JsonScalar& data, ConfigMap* map) {
  const std::string kind = "a Kubernetes ConfigMap";
  std::string keys, candidates;
  std::size_t key_count = 0;
  std::size_t candidate_count = 0;
  bool found = false;
  const auto visit = [&](std::string_view key, JsonWalker& value) {
    List(key, key_count++, &keys);
    if (value.type() != JsonType::kString) return true;
    std::string text = value.Scalar().Text();
    found = key == kTableKey;
    if (!found && !LooksLikeObject(text)) return true;
    if (!found) List(key, candidate_count++, &candidates);
    map->place = Place(key);
    map->table = std::move(text);
    return !found;
  };
  if (data.type == JsonType::kObject) JsonWalker(json, data.offset).Members(visit);
  if (found || candidate_count == 1) return;
  if (candidate_count > 1) {
    map->error = kind + " with several JSON texts in data (" + candidates +
                 "): save the one that is the rank table in a file of its own";
  } else {
    map->error = kind + " without a rank table: " +
                 (key_count > 0 ? "no text in data is a JSON object (found " + keys + ")"
                                : "data is empty or missing");
  }
}

// Reads the parts of a Kubernetes object in YAML that a message needs. Not a YAML parser: it
// understands the lines that kubectl prints.
struct YamlObject {
  bool has_version = false;
  std::string_view kind, name, name_space, table_key;
};

std::string_view Value(std::string_view line) {
  line.remove_prefix(line.find(':') + 1);
  const auto blank_or_quote = [](char c) {
    return std::string_view(" \t\r\"'").find(c) != std::string_view::npos;
  };
  while (!line.empty() && blank_or_quote(line.front())) line.remove_prefix(1);
  while (!line.empty() && blank_or_quote(line.back())) line.remove_suffix(1);
  return line;
}

YamlObject ReadYaml(std::string_view text) {
  YamlObject object;
  std::string_view section;
  const auto set = [](std::string_view value, std::string_view* field) {
    if (field->empty()) *field = value;
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string_view::npos || colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(indent, std::max(colon, indent) - indent);
    if (indent == 0) {
      section = key;
      if (key == "apiVersion") object.has_version = true;
      if (key == "kind") set(Value(line), &object.kind);
    } else if (indent == 2 && section == "metadata") {
      if (key == "name") set(Value(line), &object.name);
      if (key == "namespace") set(Value(line), &object.name_space);
    } else if (indent == 2 && section == "data" && key.find('.') != std::string_view::npos) {
      if (key == kTableKey || object.table_key.empty()) object.table_key = key;
    }
  }
  return object;
}

// Whether the name can be printed in a shell command as it is. Kubernetes allows no other names.
bool IsKubernetesName(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !name.empty() && name.size() <= 253 &&
         name.find_first_not_of(kAllowed) == std::string_view::npos && name.front() != '-';
}

// The command that prints the table of the ConfigMap.
std::string ExtractCommand(const YamlObject& object) {
  std::string command = "kubectl get configmap ";
  command += IsKubernetesName(object.name) ? object.name : "NAME";
  if (IsKubernetesName(object.name_space)) command += " -n " + std::string(object.name_space);
  command += " -o jsonpath='{.data.";
  const bool plain = IsKubernetesName(object.table_key) && object.table_key.size() < 64;
  for (const char c : plain ? object.table_key : kTableKey) {
    if (c == '.') command += '\\';
    command += c;
  }
  return command + "}' > hccl.json";
}

}  // namespace

std::optional<ConfigMap> ReadConfigMap(std::string_view json) {
  const KubernetesObject object = ReadObject(json);
  if (object.kind.raw != "ConfigMap") return std::nullopt;
  ConfigMap map;
  map.name = NameOf(json, object.metadata);
  FindTable(json, object.data, &map);
  return map;
}

std::string KubernetesListProblem(std::string_view json) {
  const KubernetesObject object = ReadObject(json);
  const bool list = object.kind.raw == "List" || object.kind.raw == "ConfigMapList";
  if (!list || object.items.type != JsonType::kArray) return "";
  return "a list of Kubernetes objects, not a rank table: print the ConfigMap alone, with "
         "kubectl get configmap NAME -o json";
}

std::string KubernetesYamlProblem(std::string_view text) {
  const YamlObject object = ReadYaml(text);
  if (!object.has_version || object.kind.empty()) return "";
  if (object.kind != "ConfigMap") {
    return "a Kubernetes object of kind " + base::Quoted(object.kind) +
           " in YAML, not a rank table";
  }
  return "a Kubernetes ConfigMap in YAML, not a rank table: write its table to a file with " +
         ExtractCommand(object);
}

bool IsRootInfo(std::string_view json) {
  bool has_path = false;
  bool has_rank_id = false;
  bool has_other_list = false;
  JsonWalker(json).Members([&](std::string_view key, JsonWalker& value) {
    for (const std::string_view list : {"server_list", "group_list", "node_list"}) {
      has_other_list = has_other_list || key == list;
    }
    if (key == "topo_file_path") has_path = value.type() == JsonType::kString;
    if (key != "rank_list" || value.type() != JsonType::kArray) return true;
    return value.Elements([&](std::size_t, JsonWalker& rank) {
      if (rank.type() != JsonType::kObject) return true;
      return rank.Members([&](std::string_view member, JsonWalker& id) {
        has_rank_id = has_rank_id || (member == "rank_id" && id.type() != JsonType::kNull);
        return true;
      });
    });
  });
  return has_path && !has_rank_id && !has_other_list;
}

}  // namespace assay::rank_table
