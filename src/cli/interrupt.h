// Ctrl-C of a command that waits: counted, not fatal, so that the command can ask what to do, or
// clean up.
//
// Thread safety: Interrupts() and TakeStopWish() from any thread.
#pragma once

namespace assay {

// Catches SIGINT from now on.
void CatchInterrupts();
// SIGTERM, SIGHUP and SIGQUIT count as interrupts too.
void CatchEndings();
// Ctrl-Z (SIGTSTP) becomes a wish: whoever takes it cleans up and calls StopHere.
void CatchStopWishes();
bool TakeStopWish();
// Returns when somebody continues this process.
void StopHere();
// How often it came.
int Interrupts();

}  // namespace assay
