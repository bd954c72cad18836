// The driver that an agent uses, and the options of drivers. Each driver describes its options in
// its table entry (driver_table.h); flags, checks and defaults come from there.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace assay::driver {

struct OptionSpec {
  enum class Type : std::uint8_t {
    kNumber,
    kSeconds,  // held in milliseconds; written in seconds
    kText,
  };
  const char* name;  // unique among all drivers; of the flag, without dashes
  Type type = Type::kText;
  // Numbers only: the allowed range, inclusive, and the default. The default of a text is "".
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t initial = 0;
  const char* placeholder = "";  // of a text, in --help
  const char* help = nullptr;    // null: not a flag, only for tests
};

// They come from the agent's flags and go unchanged to each worker.
struct Options {
  std::string kind = "auto";  // auto, or a driver's name
  // By option name, in decimal if it is a number. An option without a value has its default.
  std::map<std::string, std::string> values;

  // Not a setting: the descriptor of the worker's frame pipe, to which the sim driver writes the
  // garbage that a plan requests. The worker sets it; -1 elsewhere.
  std::int32_t frame_fd = -1;

  void Set(const std::string& name, std::string value) { values[name] = std::move(value); }
  void Set(const std::string& name, std::int64_t value) { values[name] = std::to_string(value); }

  // REQUIRES: CheckOption(spec, *this).ok(). Number: spec is not of a text.
  std::int64_t Number(const OptionSpec& spec) const;
  std::string Text(const OptionSpec& spec) const;
};

// kInvalid names the flag, its value and the allowed ones.
base::Status CheckOption(const OptionSpec& spec, const Options& options);

}  // namespace assay::driver
