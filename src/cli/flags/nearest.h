// The known word nearest to a mistyped one, for "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// By edits (insert, delete, replace, swap of neighbours), at most a third of the longer word; the
// first of equals. No value: nothing is near.
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace assay
