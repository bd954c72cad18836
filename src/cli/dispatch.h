// From the words of the command line to the command that is meant.
#pragma once

#include "cli/commands.h"

namespace assay {

// Starts the roles that `args` ask for and returns the exit status (roles/daemon.h).
using RunRoles = int (*)(Args args);

// Runs the command, or `run_roles` when the first word is a flag. Returns the exit status. `args`
// are all words after the program's name.
int Dispatch(Args args, RunRoles run_roles);

}  // namespace assay
