// A driver without hardware: a plan (sim_plan.h) sets how long each call takes and how it ends. An
// operator uses it to try out alarms, and tests use it to get every outcome.
//
// A p2p test checks that each member receives what the others returned from PrepareP2p.
#pragma once

#include <memory>

#include "base/status.h"
#include "driver/driver.h"

namespace assay::driver::sim {

base::Result<std::unique_ptr<Driver>> MakeSim(const Options& options);

}  // namespace assay::driver::sim
