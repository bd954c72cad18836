// The version of this build, as `assay --version` prints it and agents send it in their hello.
#pragma once

#include <string_view>

namespace assay::base {

std::string_view Version();  // "0.1.0"

}  // namespace assay::base
