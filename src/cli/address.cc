#include "cli/address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

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

}  // namespace

std::string CoordinatorAddress(const std::string& coordinator) {
  const std::size_t colon = coordinator.rfind(':');
  const bool bare_ipv6 = colon != std::string::npos && coordinator.find(':') != colon &&
                         coordinator.find(']') == std::string::npos &&
                         coordinator.find('/') == std::string::npos;
  if (bare_ipv6) return "[" + coordinator + "]:8899";
  if (colon == std::string::npos || coordinator.ends_with("]")) return coordinator + ":8899";
  return coordinator;
}

std::string AddressProblem(const std::string& coordinator) {
  if (coordinator.find('/') != std::string::npos) {
    if (IsGrpcUri(coordinator)) return "";
    return base::Quoted(coordinator) +
           " is not HOST:PORT; it is the coordinator's host and port, for example head:8899";
  }
  const std::string address = CoordinatorAddress(coordinator);
  const std::size_t colon = address.rfind(':');
  if (colon == 0) return base::Quoted(coordinator) + " has no host; write HOST:PORT";
  int port = 0;
  const char* const end = address.data() + address.size();
  const auto [rest, error] = std::from_chars(address.data() + colon + 1, end, port);
  if (error == std::errc() && rest == end && port >= 1 && port <= 65'535) return "";
  return "port " + base::Quoted(address.substr(colon + 1)) + " of " + base::Quoted(coordinator) +
         " is not a number from 1 to 65535";
}

}  // namespace assay::cli
