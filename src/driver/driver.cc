#include "driver/driver.h"

#include "base/text.h"
#include "driver/host/host_driver.h"
#include "driver/sim/sim_driver.h"

namespace assay::driver {
namespace {

constexpr std::int32_t kHourMs = 3'600'000;
constexpr std::int32_t kHostDevicesMax = 64;
constexpr std::int32_t kSimDevicesMax = 1024;

base::Status CheckRange(const char* flag, std::int32_t value, std::int32_t low, std::int32_t high) {
  if (value >= low && value <= high) return base::Status::Ok();
  return base::InvalidError(std::string(flag) + "=" + std::to_string(value) +
                            ": allowed values are " + std::to_string(low) + " to " +
                            std::to_string(high));
}

}  // namespace

base::Result<std::unique_ptr<Driver>> Make(const Options& options) {
  const base::Status checks[] = {
      CheckRange("--host-devices", options.host_devices, 0, kHostDevicesMax),
      CheckRange("--host-seconds (in ms)", options.host_op_ms, 1, kHourMs),
      CheckRange("--sim-devices", options.sim_devices, 1, kSimDevicesMax),
      CheckRange("--sim-op-ms", options.sim_op_ms, 0, kHourMs),
  };
  for (const base::Status& check : checks) {
    if (!check.ok()) return check;
  }
  // `auto` is the host driver as long as there is no driver for accelerators to prefer.
  if (options.kind == "auto" || options.kind == "host") return host::MakeHost(options);
  if (options.kind == "sim") return sim::MakeSim(options);
  return base::InvalidError("--driver=" + base::Printable(options.kind, 40) +
                            ": known drivers are auto, host and sim");
}

}  // namespace assay::driver
