#include "cli/address.h"

#include "base/host_port.h"

namespace assay::cli {
namespace {

bool IsUri(const std::string& coordinator) { return coordinator.find('/') != std::string::npos; }

base::Result<base::HostPort> Parse(const std::string& coordinator) {
  return base::ParseHostPort(coordinator, {.default_port = base::kCoordinatorPort});
}

}  // namespace

std::string CoordinatorAddress(const std::string& coordinator) {
  const base::Result<base::HostPort> address = Parse(coordinator);
  return IsUri(coordinator) || !address.ok() ? coordinator : address->Text();
}

std::string AddressProblem(const std::string& coordinator) {
  return IsUri(coordinator) ? "" : Parse(coordinator).status().text();
}

}  // namespace assay::cli
