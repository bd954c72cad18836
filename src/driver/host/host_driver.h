// The driver that really tests the machine's own CPU and memory. Each device is a set of the cores
// that this process may run on (cpu.h, SplitCores).
//
// aic: exact matrix products (products.h). p2p: pattern-checked copies between the devices' buffers
// (copies.h). There is no voltage that a test could leave changed.
#pragma once

#include "driver/driver_table.h"

namespace assay::driver::host {

extern const DriverEntry kHostEntry;

}  // namespace assay::driver::host
