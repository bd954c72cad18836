// Strict parsing of whole numbers.
//
// Thread safety: pure functions.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace assay::base {

// Parses a decimal number that is the whole text: "17", and "-3" for a signed type. No value for
// anything else: an empty text, a plus sign, spaces, other characters before or after the number,
// or a number outside the range of the type.
template <std::integral Int>
std::optional<Int> ParseNumber(std::string_view text) {
  Int number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace assay::base
