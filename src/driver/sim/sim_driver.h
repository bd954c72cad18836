// A driver without hardware: a plan (sim_plan.h) sets how long each call takes and how it ends. An
// operator uses it to try out alarms, and tests use it to get every outcome.
//
// A p2p test checks that each member receives what the others returned from PrepareP2p.
#pragma once

#include "driver/driver_table.h"

namespace assay::driver::sim {

extern const DriverEntry kSimEntry;

}  // namespace assay::driver::sim
