// Formats times as UTC text.
#pragma once

#include <string>

#include "core/model.h"

namespace assay::store {

// 2026-01-02T03:04:05.678Z, for the years 0 to 9999; other times are clamped to them.
std::string UtcText(core::Ms time);

}  // namespace assay::store
