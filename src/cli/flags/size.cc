#include "cli/flags/size.h"

#include <charconv>

#include "base/text.h"

namespace assay::cli::flags {
namespace {

struct Unit {
  std::string_view name;
  int shift;
};
constexpr Unit kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
constexpr std::int64_t kMax = std::int64_t{1} << 62;

}  // namespace

base::Result<std::int64_t> ParseSize(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return base::InvalidError(base::Quoted(text) + " " + std::string(why) +
                              "; write it like 512KiB, 1MiB or 2GiB, or as a number of bytes");
  };
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) return wrong("is too large");
  if (error != std::errc() || value < 0) return wrong("is not a size");
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  int shift = 0;
  for (const Unit& unit : kUnits) {
    if (name == unit.name) shift = unit.shift;
  }
  if (shift == 0 && !name.empty()) return wrong("has an unknown unit");
  if (value > (kMax >> shift)) return wrong("is too large");
  return value << shift;
}

std::string SizeText(std::int64_t bytes) {
  for (const Unit& unit : kUnits) {
    const std::int64_t one = std::int64_t{1} << unit.shift;
    if (bytes != 0 && bytes % one == 0) return std::to_string(bytes / one) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

}  // namespace assay::cli::flags
