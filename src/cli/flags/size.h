// Sizes in flags: 512KiB, 1MiB, 2GiB, or a plain number of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::cli::flags {

// Returns bytes, 0 to 2^62. Errors quote the text and show how to write a size.
base::Result<std::int64_t> ParseSize(std::string_view text);

// "1MiB", "1536KiB", "1000". ParseSize() of it returns `bytes`.
std::string SizeText(std::int64_t bytes);

}  // namespace assay::cli::flags
