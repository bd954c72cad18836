// The file from which scripts read the coordinator's address: one line, host:port.
//
// Thread safety: the thread that starts the coordinator.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::coordinator {

// Writes a temporary file beside `file` and renames it, so readers never see half a line. kInvalid
// with the system's reason.
base::Status WritePortFile(const std::string& file, const std::string& address);

}  // namespace assay::coordinator
