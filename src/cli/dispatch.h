// Selects and runs the command that the command line names.
#pragma once

#include "cli/commands.h"

namespace assay::cli {

// Runs the roles that `args` name and returns the exit status (roles/daemon.h).
using RunRoles = int (*)(Args args);

// Runs the command, or `run_roles` if the first argument is a flag. Returns the exit status. `args`
// are all arguments after the program's name.
int Dispatch(Args args, RunRoles run_roles);

}  // namespace assay::cli
