// Addresses of coordinators, as users write them.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace assay::cli {

// Returns `coordinator` as HOST:PORT (base/host_port.h), with the default port if it has none.
// Returns a gRPC URI such as dns:///head:8899 unchanged. REQUIRES: AddressProblem() is empty.
std::string CoordinatorAddress(const std::string& coordinator);

// Returns why `coordinator` is not a valid address, "" if it is. Does not resolve the host or
// check URIs.
std::string AddressProblem(const std::string& coordinator);

}  // namespace assay::cli
