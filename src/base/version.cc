#include "base/version.h"

namespace assay::base {

std::string_view Version() { return ASSAY_VERSION; }

}  // namespace assay::base
