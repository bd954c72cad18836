// Recognises files that users pass as a rank table although they are something else: Kubernetes
// objects as kubectl prints them, and the root info file of a host. Internal to src/rank_table.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::rank_table {

// A Kubernetes ConfigMap in JSON.
struct ConfigMap {
  std::string name;   // metadata.name, "" if absent
  std::string place;  // where the table is, for messages: data["hccl.json"]
  std::string table;  // the text there
  std::string error;  // why no table was found; "" if one was
};

// Returns no value if json is not a ConfigMap. The table is data["hccl.json"], else the only member
// of data that contains a JSON object.
// REQUIRES: json is one JSON object that passed CheckJson().
std::optional<ConfigMap> ReadConfigMap(std::string_view json);

// Returns the error for a list of Kubernetes objects in JSON, or "" if json is something else.
// REQUIRES: as ReadConfigMap().
std::string KubernetesListProblem(std::string_view json);

// Returns the error for a Kubernetes object in YAML, with the command that prints the table of a
// ConfigMap, or "" if text is something else. REQUIRES: text is not JSON.
std::string KubernetesYamlProblem(std::string_view text);

// Whether json is the root info file of a 2.0 host (/etc/hccl_rootinfo.json): it has a
// topo_file_path, and no rank ids. REQUIRES: as ReadConfigMap().
bool IsRootInfo(std::string_view json);

}  // namespace assay::rank_table
