// Times as people write them in flags: a number and its unit, `200ms`, `90s`, `1.5s`, `5m`, `2h`. A
// bare number is refused: nobody should have to guess its unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay {

// Milliseconds, 0 to 10 years. Errors name the text and show how to write it.
Result<std::int64_t> ParseDuration(std::string_view text);

// "300s", "1500ms", "0s": reads back as the same.
std::string DurationText(std::int64_t ms);

}  // namespace assay
