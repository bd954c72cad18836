// Addresses of coordinators, as users write them.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace assay::cli {

// Appends the default port, 8899, where it is missing: to "head", "[::1]" and the bare IPv6 address
// "::1", which becomes "[::1]:8899". Returns a gRPC URI such as dns:///head:8899 unchanged.
std::string CoordinatorAddress(const std::string& coordinator);

// Returns why `coordinator` is not a valid address, "" if it is. Does not resolve the host.
std::string AddressProblem(const std::string& coordinator);

}  // namespace assay::cli
