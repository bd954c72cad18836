// Reads input files that the user names; "-" is standard input.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace assay::cli {

// Reads the whole file. kNotFound: it cannot be read; kInvalid: it is larger than `bytes_max`.
// Errors name the file.
base::Result<std::string> ReadInput(const std::string& path, std::size_t bytes_max);

}  // namespace assay::cli
