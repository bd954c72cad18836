// A driver without hardware: every call takes the time and ends the way it was told to. It is how
// an operator tries alarms and how tests get every outcome.
//
// A p2p test does check that each member was given what the others returned from PrepareP2p.
#pragma once

#include <memory>

#include "base/status.h"
#include "driver/driver.h"

namespace assay::driver {

Result<std::unique_ptr<Driver>> MakeSim(const Options& options);

}  // namespace assay::driver
