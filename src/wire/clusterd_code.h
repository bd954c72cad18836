// The numbers of ClusterD's interfaces for the verdicts of the core (docs/wire.md 3). No other file
// knows them, except for the clients in cli/.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "base/status.h"
#include "core/verdict.h"

namespace assay::wire {

// `code` of the Status that Recover's calls return.
int RecoverCode(core::Verdict verdict);

// `code` of the Status that job.Job's Register returns.
int JobCode(core::Verdict verdict);

// The status of a call that reports refusals by its gRPC status; OK for kAccepted.
base::Status StatusOf(core::Verdict verdict, std::string_view text);

// As StatusOf(), with Recover's number before the text: "402 job ...". For the admin service.
base::Status AdminStatus(core::Verdict verdict, std::string_view text);

}  // namespace assay::wire
