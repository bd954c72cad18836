#include "cli/flags/duration.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace assay::cli::flags {
namespace {
constexpr double kMaxMs = 10.0 * 365 * 86'400'000;
}  // namespace

base::Result<std::int64_t> ParseDuration(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return base::InvalidError(base::Quoted(text) + " " + std::string(why) +
                              "; write a number and its unit, like 200ms, 90s, 5m or 2h");
  };
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || value < 0) return wrong("is not a duration");
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double ms = 0;
  if (unit == "ms") {
    ms = value;
  } else if (unit == "s") {
    ms = value * 1000;
  } else if (unit == "m" || unit == "min") {
    ms = value * 60'000;
  } else if (unit == "h") {
    ms = value * 3'600'000;
  } else {
    return wrong(unit.empty() ? "has no unit" : "has an unknown unit");
  }
  if (!(ms <= kMaxMs)) return wrong("is too long");
  return static_cast<std::int64_t>(std::llround(ms));
}

std::string DurationText(std::int64_t ms) {
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + "s";
  return std::to_string(ms) + "ms";
}

}  // namespace assay::cli::flags
