// The file that tells scripts where the coordinator listens: one line, host:port.
//
// Thread safety: none needed; called once.
#pragma once

#include <string>

#include "base/status.h"

namespace assay {

// Appears whole or not at all (written beside and renamed).
Status WritePortFile(const std::string& file, const std::string& address);

}  // namespace assay
