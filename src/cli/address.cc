#include "cli/address.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/host_port.h"
#include "base/text.h"

namespace assay::cli {
namespace {

// Whether gRPC knows the scheme of the URI.
bool IsGrpcUri(std::string_view coordinator) {
  constexpr std::array<std::string_view, 5> kSchemes = {
      "dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:"};
  return std::any_of(kSchemes.begin(), kSchemes.end(),
                     [&](std::string_view scheme) { return coordinator.starts_with(scheme); });
}

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
  if (IsUri(coordinator)) {
    if (IsGrpcUri(coordinator)) return "";
    return base::Quoted(coordinator) +
           " is not HOST:PORT; it is the coordinator's host and port, for example head:8899";
  }
  return Parse(coordinator).status().text();
}

}  // namespace assay::cli
