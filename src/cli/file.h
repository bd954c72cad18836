// Reads a file a person named, "-" for standard input, with a bound and errors that name it.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace assay {

Result<std::string> ReadInput(const std::string& path, std::size_t bytes_max);

}  // namespace assay
