// Lists of texts in one column, as a JSON array: ["10.0.0.1","fd00::1"].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::string JoinTexts(
    const std::vector<std::string>& texts);  // bytes that are no UTF-8 become U+FFFD
std::optional<std::vector<std::string>> SplitTexts(std::string_view json);

}  // namespace assay
