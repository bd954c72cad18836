// Checks in advance whether a job's signals have room for its rank table.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/model.h"

namespace assay::control {

// The warning that subscribers get the job's signals without HcclJson; "": they get them with it.
// The size is an upper bound, some dozen bytes too high: a table that just fits may be warned
// about.
std::string MissingHcclWarning(const core::JobSpec& job, const std::string& hccl);

}  // namespace assay::control
