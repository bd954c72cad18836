// Rules for ids chosen by users and platforms, and helpers for messages about them.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::base {

inline constexpr std::size_t kIdBytesMax = 256;     // job ids, node names
inline constexpr std::size_t kTextBytesMax = 1024;  // a job's name, namespace, framework, addresses
inline constexpr std::size_t kDetailBytesMax = 512;  // detail text of one outcome

// Returns why `id` is not a valid id of a `what` ("job", "node"), or no value if it is valid. A
// valid id has 1 to kIdBytesMax bytes of UTF-8, no control characters, and no space at either end.
std::optional<std::string> IdProblem(std::string_view what, std::string_view id);

// Returns why `text` is not a valid value of a job field that Assay only forwards (`field`: name,
// namespace, address), or no value if it is valid: at most kTextBytesMax bytes and no control
// characters.
std::optional<std::string> TextProblem(std::string_view field, std::string_view text);

// The error text for `state`, which is not the name of a job state.
std::string UnknownState(std::string_view state);

// "[0 3 7]", as ClusterD prints lists.
std::string List(const std::vector<std::int32_t>& numbers);
// "a, b, c and 5 more"
std::string List(const std::vector<std::string>& names, std::size_t max);

// "300 s", "1.5 s", "200 ms"
std::string Seconds(std::int64_t ms);

}  // namespace assay::base
