#include "store/shared_rows.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/text_list.h"

namespace assay::store {

bool ReadSpec(const Rows& rows, core::JobSpec* spec, core::JobState* state) {
  spec->id = rows.Text(0);
  spec->name = rows.Text(1);
  spec->name_space = rows.Text(2);
  spec->framework = rows.Text(3);
  spec->master_addr = rows.Text(5);
  spec->shared_tor_ip = rows.Text(6);
  const std::optional<core::JobState> known = core::JobStateFromName(rows.Text(4));
  if (known) *state = *known;
  return known.has_value();
}

bool ReadNode(const Rows& rows, core::Node* node) {
  node->name = rows.Text(0);
  node->attached = rows.Int(1) != 0;
  node->since = rows.Int(2);
  node->identity = rows.Text(3);
  node->version = rows.Text(4);
  node->host_name = rows.Text(5);
  node->fqdn = rows.Text(6);
  node->driver = rows.Text(7);
  std::optional<std::vector<std::string>> addresses = SplitTexts(rows.Text(8));
  if (!addresses) return false;
  node->addresses = *std::move(addresses);
  return true;
}

}  // namespace assay::store
