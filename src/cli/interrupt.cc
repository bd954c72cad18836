#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace assay::cli {
namespace {

std::atomic<int> interrupts{0};
std::atomic<bool> stop_wish{false};
// A signal handler may only access lock-free atomics.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void OnInterrupt(int) { interrupts.fetch_add(1, std::memory_order_relaxed); }

void OnStopWish(int) { stop_wish.store(true, std::memory_order_relaxed); }

// Without SA_RESTART, so that the signal ends a wait for input or output.
void Catch(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void CatchInterrupts() { Catch(SIGINT, OnInterrupt); }

void CatchEndings() {
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) Catch(one, OnInterrupt);
}

void CatchStopWishes() { Catch(SIGTSTP, OnStopWish); }

bool TakeStopWish() { return stop_wish.exchange(false, std::memory_order_relaxed); }

void StopHere() { kill(getpid(), SIGSTOP); }

int Interrupts() { return interrupts.load(std::memory_order_relaxed); }

}  // namespace assay::cli
