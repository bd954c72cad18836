#include "base/version.h"

namespace assay {

std::string_view Version() { return ASSAY_VERSION; }

}  // namespace assay
