#include "roles/worker_command.h"

#include <string_view>

#include "base/number.h"
#include "driver/worker_main.h"

namespace assay::roles {
namespace {

std::optional<int> Descriptor(std::string_view word, std::string_view flag) {
  if (!word.starts_with(flag)) return std::nullopt;
  word.remove_prefix(flag.size());
  const std::optional<int> fd = base::ParseNumber<int>(word);
  return fd && *fd >= 0 ? fd : std::nullopt;
}

}  // namespace

std::optional<int> RunIfWorker(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != "worker") return std::nullopt;
  const auto in = Descriptor(argv[2], "--in=");
  const auto out = Descriptor(argv[3], "--out=");
  if (!in || !out) return std::nullopt;
  return driver::RunWorker(*in, *out);
}

}  // namespace assay::roles
