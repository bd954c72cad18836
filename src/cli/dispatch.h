// From the words of the command line to the command that is meant.
#pragma once

#include "cli/commands.h"

namespace assay {

// Runs it and returns the exit status. `args` are all words after the program's name.
int Dispatch(Args args);

}  // namespace assay
