// The version of this build, as `assay --version` and the agents' hello say it.
#pragma once

#include <string_view>

namespace assay {

std::string_view Version();  // "0.1.0"

}  // namespace assay
