// Durations in flags: a number and its unit, `200ms`, `90s`, `1.5s`, `5m`, `2h`. A number without a
// unit is an error, because it is ambiguous.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::cli::flags {

// Returns milliseconds, 0 to 10 years. Errors quote the text and show how to write a duration.
base::Result<std::int64_t> ParseDuration(std::string_view text);

// "300s", "1500ms", "0s". ParseDuration() of it returns `ms`.
std::string DurationText(std::int64_t ms);

}  // namespace assay::cli::flags
