// Ctrl-C of a command that waits: counted, not fatal, so that the command can ask what to do.
//
// Thread safety: Interrupts() from any thread.
#pragma once

namespace assay {

// Catches SIGINT from now on.
void CatchInterrupts();
// How often it came.
int Interrupts();

}  // namespace assay
