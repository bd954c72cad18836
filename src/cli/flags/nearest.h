// Finds the known word nearest to a mistyped one, for "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli::flags {

// Counts edits: insert, delete, replace, swap of neighbours. Returns no value if every known word
// needs more edits than a third of the longer word's length; of equally near words the first.
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace assay::cli::flags
