#include "driver/driver_table.h"

#include "base/text.h"
#include "driver/host/host_driver.h"
#include "driver/sim/sim_driver.h"

namespace assay::driver {
namespace {

// `auto` takes the first one: a driver for accelerators goes before the host's.
constexpr const DriverEntry* kDrivers[] = {&host::kHostEntry, &sim::kSimEntry};

// "auto, host and sim".
std::string KnownNames() {
  std::string names = "auto";
  for (const DriverEntry* entry : kDrivers) {
    names += entry == *std::rbegin(kDrivers) ? " and " : ", ";
    names += entry->name;
  }
  return names;
}

bool IsOption(const std::string& name) {
  for (const DriverEntry* entry : kDrivers) {
    for (const OptionSpec& spec : entry->options) {
      if (name == spec.name) return true;
    }
  }
  return false;
}

}  // namespace

std::span<const DriverEntry* const> DriverTable() { return kDrivers; }

base::Result<const DriverEntry*> FindDriver(const Options& options) {
  if (options.kind == "auto") return kDrivers[0];
  for (const DriverEntry* entry : kDrivers) {
    if (entry->name == options.kind) return entry;
  }
  return base::InvalidError("--driver=" + base::Printable(options.kind, 40) +
                            ": known drivers are " + KnownNames());
}

base::Result<std::unique_ptr<Driver>> Make(const Options& options) {
  for (const auto& [name, value] : options.values) {
    if (!IsOption(name)) return base::InvalidError("no driver has an option " + base::Quoted(name));
  }
  for (const DriverEntry* entry : kDrivers) {
    for (const OptionSpec& spec : entry->options) {
      if (base::Status status = CheckOption(spec, options); !status.ok()) return status;
    }
  }
  base::Result<const DriverEntry*> entry = FindDriver(options);
  if (!entry.ok()) return entry.status();
  return (*entry)->make(options);
}

}  // namespace assay::driver
