// The daemon: coordinator, agent, or both in one process.
#pragma once

#include "cli/commands.h"

namespace assay {

// Runs `assay --role=...` until it is stopped; returns the exit status.
int RunDaemon(Args args);

}  // namespace assay
