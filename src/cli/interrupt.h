// Signals of a client command. SIGINT, SIGTERM, SIGHUP and SIGQUIT end every command at once,
// whatever it waits for: with a text on standard error and exit status 128 + the signal's number.
// A command that must clean up or ask the user catches some of them; then the signal ends the
// command's waits instead, and the command decides.
//
// Thread safety: the one thread of a command uses it. The handlers run on any thread; they use only
// lock-free atomics and system calls that a handler may call.
#pragma once

#include <string>

namespace assay::cli {

// Call it before a command begins. `command`, such as "assay job apply", begins the text.
void EndOnSignals(const std::string& command);

// From now on SIGINT waits for TakeInterrupt(). The other signals still end the process.
void CatchInterrupts();
// From now on all four signals wait for TakeInterrupt(). A command that does not end within two
// seconds after one of them, for example because its output is not read, is ended then.
void CatchEndings();
// Whether a caught signal waits for TakeInterrupt().
bool Interrupted();
// The number of the caught signal that waits, which no longer waits after the call; 0 if none does.
int TakeInterrupt();

// Exit status of a command that a signal ended.
inline constexpr int kExitSignal = 128;

// While the object exists, a signal that ends the process prints `words` after the command's name.
// If several exist, the first one counts.
class LastWords {
 public:
  explicit LastWords(std::string words);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  const std::string words_;
  bool first_ = false;
};

// Turns Ctrl-Z (SIGTSTP) into a pending stop request: the command polls TakeStopWish(), cleans up
// and calls StopHere().
void CatchStopWishes();
// Returns whether a stop request is pending, and clears it.
bool TakeStopWish();
// Stops this process (SIGSTOP). Returns when it is continued.
void StopHere();

}  // namespace assay::cli
