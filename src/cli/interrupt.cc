#include "cli/interrupt.h"

#include <signal.h>

#include <atomic>

namespace assay {
namespace {

std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free);  // or a handler may not touch it

void OnInterrupt(int) { interrupts.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void CatchInterrupts() {
  struct sigaction action {};
  action.sa_handler = OnInterrupt;  // without SA_RESTART: a wait for input ends
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

int Interrupts() { return interrupts.load(std::memory_order_relaxed); }

}  // namespace assay
