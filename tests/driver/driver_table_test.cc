#include "driver/driver_table.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace assay::driver {
namespace {

TEST_CASE("the names of drivers and options are unique") {
  std::set<std::string> names = {"auto"};
  std::set<std::string> options;
  for (const DriverEntry* entry : DriverTable()) {
    CHECK(names.insert(std::string(entry->name)).second);
    for (const OptionSpec& spec : entry->options) {
      INFO(spec.name);
      CHECK(options.insert(spec.name).second);
    }
  }
}

TEST_CASE("the default of every option is allowed, and its driver can be made with it") {
  for (const DriverEntry* entry : DriverTable()) {
    Options options;
    options.kind = entry->name;
    for (const OptionSpec& spec : entry->options) {
      INFO(spec.name);
      if (spec.type == OptionSpec::Type::kText) continue;
      CHECK(options.Number(spec) == spec.initial);
      options.Set(spec.name, spec.initial);
      CHECK(CheckOption(spec, options).ok());
      CHECK(options.Number(spec) == spec.initial);
    }
    INFO(entry->name);
    REQUIRE(Make(options).ok());
    CHECK((*Make(options))->name() == entry->name);
  }
}

TEST_CASE("a number outside its range is refused, also far outside, and its flag is named") {
  for (const DriverEntry* entry : DriverTable()) {
    for (const OptionSpec& spec : entry->options) {
      if (spec.type == OptionSpec::Type::kText) continue;
      INFO(spec.name);
      Options options;
      options.Set(spec.name, spec.high);
      CHECK(CheckOption(spec, options).ok());
      // The last two become allowed values if they are cut to 32 bits.
      for (const std::int64_t value : {spec.low - 1, spec.high + 1, (std::int64_t{1} << 32) + 700,
                                       (std::int64_t{1} << 32) + spec.low}) {
        options.Set(spec.name, value);
        CHECK(Make(options).status().text().starts_with("--" + std::string(spec.name) + "="));
      }
    }
  }
}

TEST_CASE("`auto` is the first driver of the table") {
  const base::Result<const DriverEntry*> entry = FindDriver({});
  REQUIRE(entry.ok());
  CHECK(*entry == DriverTable()[0]);
}

}  // namespace
}  // namespace assay::driver
