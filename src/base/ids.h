// Ids that people and platforms choose, and small pieces of texts about them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline constexpr std::size_t kIdBytesMax = 256;     // job ids, node names
inline constexpr std::size_t kWordBytesMax = 1024;  // a job's name, namespace, framework, addresses
inline constexpr std::size_t kDetailBytesMax = 512;  // one outcome's detail

// Why `id` cannot be the id of a `what` ("job", "node"); no value: it can. Ids are 1 to kIdBytesMax
// bytes of UTF-8 without control characters that do not begin or end with a space.
std::optional<std::string> IdProblem(std::string_view what, std::string_view id);

// Why `word` cannot be what is only passed on of a job (`field`: name, namespace, address); no
// value: it can, with up to kWordBytesMax bytes without control characters.
std::optional<std::string> WordProblem(std::string_view field, std::string_view word);

// What is wrong with a word that is no job's state.
std::string UnknownState(std::string_view state);

// "[0 3 7]", as ClusterD prints lists.
std::string List(const std::vector<std::int32_t>& numbers);
// "a, b, c and 5 more"
std::string List(const std::vector<std::string>& names, std::size_t max);

// "300 s", "1.5 s", "200 ms"
std::string Seconds(std::int64_t ms);

}  // namespace assay
