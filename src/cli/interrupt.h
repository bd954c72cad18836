// Signals of a command that waits. Ctrl-C is counted instead of ending the process, so that the
// command can ask the user what to do, or clean up.
//
// Thread safety: any thread may call Interrupts() and TakeStopWish().
#pragma once

namespace assay::cli {

// Counts SIGINT as an interrupt from now on.
void CatchInterrupts();
// Counts SIGINT, SIGTERM, SIGHUP and SIGQUIT as interrupts from now on.
void CatchEndings();
// Turns Ctrl-Z (SIGTSTP) into a pending stop request: the command polls TakeStopWish(), cleans up
// and calls StopHere().
void CatchStopWishes();
// Returns whether a stop request is pending, and clears it.
bool TakeStopWish();
// Stops this process (SIGSTOP). Returns when it is continued.
void StopHere();
// The number of interrupts so far.
int Interrupts();

}  // namespace assay::cli
