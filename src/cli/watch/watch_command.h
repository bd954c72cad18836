// `assay watch jobs`.
#pragma once

#include "cli/commands.h"

namespace assay::cli::watch {

// Prints the states of the jobs as they change until it is interrupted. Returns the exit status.
int WatchJobs(Args args);

}  // namespace assay::cli::watch
