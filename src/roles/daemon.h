// The daemon: coordinator, agent, or both in one process.
#pragma once

#include "cli/commands.h"

namespace assay::roles {

// Runs `assay --role=...` until it is stopped; returns the exit status. Call it from the main
// thread before any other thread starts: it blocks SIGTERM and SIGINT for all threads.
int RunDaemon(cli::Args args);

}  // namespace assay::roles
