// Lists of texts in one column, as a JSON array: ["10.0.0.1","fd00::1"].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

// Bytes that are not UTF-8 become U+FFFD.
std::string JoinTexts(const std::vector<std::string>& texts);
// No value: `json` is not an array of strings.
std::optional<std::vector<std::string>> SplitTexts(std::string_view json);

}  // namespace assay::store
