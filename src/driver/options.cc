#include "driver/options.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace assay::driver {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;

std::optional<std::int64_t> Parse(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end) return std::nullopt;
  return value;
}

// A number as the user writes it: 1500 ms as "1.5".
std::string Shown(std::int64_t value, OptionSpec::Type type) {
  if (type != OptionSpec::Type::kSeconds) return std::to_string(value);
  std::string text = std::to_string(value / kMsPerSecond);
  const std::int64_t rest = value % kMsPerSecond;
  if (value < 0 || rest == 0) return text;
  const std::string digits = std::to_string(rest);
  text += "." + std::string(3 - digits.size(), '0') + digits;
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

std::int64_t Options::Number(const OptionSpec& spec) const {
  const auto found = values.find(spec.name);
  return found == values.end() ? spec.initial : Parse(found->second).value_or(spec.initial);
}

std::string Options::Text(const OptionSpec& spec) const {
  const auto found = values.find(spec.name);
  return found == values.end() ? std::string() : found->second;
}

base::Status CheckOption(const OptionSpec& spec, const Options& options) {
  const auto found = options.values.find(spec.name);
  if (found == options.values.end() || spec.type == OptionSpec::Type::kText) {
    return base::Status::Ok();
  }
  const std::optional<std::int64_t> value = Parse(found->second);
  if (value && *value >= spec.low && *value <= spec.high) return base::Status::Ok();
  return base::InvalidError("--" + std::string(spec.name) + "=" +
                            (value ? Shown(*value, spec.type) : base::Shown(found->second)) +
                            ": allowed values are " + Shown(spec.low, spec.type) + " to " +
                            Shown(spec.high, spec.type));
}

}  // namespace assay::driver
