// The table of drivers. A new driver is a folder with its entry, and a line in driver_table.cc;
// flags, checks, the choice of the driver and the environment of its workers follow from the entry.
//
// Thread safety: constants.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "driver/driver.h"
#include "driver/options.h"

namespace assay::driver {

struct DriverEntry {
  std::string_view name;
  std::span<const OptionSpec> options;
  // NAME=value, added to the environment of its workers.
  std::span<const std::string_view> worker_env;
  // REQUIRES: every option in `options` was checked.
  base::Result<std::unique_ptr<Driver>> (*make)(const Options& options);
};

// In the order in which `auto` prefers them.
std::span<const DriverEntry* const> DriverTable();

// The entry that options.kind names; kInvalid names the known drivers.
base::Result<const DriverEntry*> FindDriver(const Options& options);

}  // namespace assay::driver
