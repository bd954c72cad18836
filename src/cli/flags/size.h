// Sizes as people write them in flags: 512KiB, 1MiB, 2GiB, or a plain number of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay {

// Bytes, up to 2^62. Errors name the text and show how to write it.
Result<std::int64_t> ParseSize(std::string_view text);

// "1MiB", "1536KiB", "1000": reads back as the same.
std::string SizeText(std::int64_t bytes);

}  // namespace assay
