// Whether a job's signals have room for its rank table, told before there is one.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/model.h"

namespace assay {

// Why subscribers get the job's signals without HcclJson; "": they get them with it. Of a table
// that just fits it may be wrong by some dozen bytes: it warns of one too many.
std::string MissingHcclWarning(const JobSpec& job, const std::string& hccl);

}  // namespace assay
