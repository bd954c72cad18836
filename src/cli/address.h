// Where a coordinator is, as people write it.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace assay {

// "head" and "[::1]" mean the default port, "::1" is an address without one.
std::string CoordinatorAddress(const std::string& coordinator);

// Why that cannot be one; "": it can. The host is not looked up.
std::string AddressProblem(const std::string& coordinator);

}  // namespace assay
