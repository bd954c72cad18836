#include "cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace assay::cli {
namespace {

constexpr unsigned kCleanUpSeconds = 2;
constexpr std::array kEndings = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::atomic<int> caught{0};    // waits for TakeInterrupt()
std::atomic<int> last_one{0};  // the last caught signal, also after TakeInterrupt()
std::atomic<bool> stop_wish{false};
std::atomic<const char*> last_words{nullptr};
// Written before the handlers are installed, then constant.
std::array<char, 64> command_name{};
// A signal handler may only access lock-free atomics.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

// A text that a handler puts together without allocation.
class HandlerText {
 public:
  void Add(const char* text) {
    while (*text != '\0' && size_ < bytes_.size()) bytes_[size_++] = *text++;
  }
  // Drops the text if standard error cannot take it now: the process must end.
  void Write() const {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return;
    if (write(STDERR_FILENO, bytes_.data(), size_) < 0) return;
  }

 private:
  std::array<char, 2048> bytes_{};
  std::size_t size_ = 0;
};

const char* EndedBy(int signal_number) {
  switch (signal_number) {
    case SIGINT:
      return "interrupted";
    case SIGTERM:
      return "ended by SIGTERM";
    case SIGHUP:
      return "ended by SIGHUP";
    default:
      return "ended by SIGQUIT";
  }
}

void OnEnd(int signal_number) {
  HandlerText text;
  termios modes{};
  // The terminal shows ^C, or a line of progress, in the line of the cursor.
  if (tcgetattr(STDERR_FILENO, &modes) == 0) text.Add("\n");
  text.Add(command_name.data());
  text.Add(": ");
  text.Add(EndedBy(signal_number));
  if (const char* words = last_words.load(std::memory_order_acquire)) {
    text.Add("; ");
    text.Add(words);
  }
  text.Add("\n");
  text.Write();
  _exit(kExitSignal + signal_number);
}

void OnCaught(int signal_number) {
  last_one.store(signal_number, std::memory_order_relaxed);
  caught.store(signal_number, std::memory_order_relaxed);
}

void OnEnding(int signal_number) {
  OnCaught(signal_number);
  alarm(kCleanUpSeconds);
}

void OnAlarm(int) { _exit(kExitSignal + last_one.load(std::memory_order_relaxed)); }

void OnStopWish(int) { stop_wish.store(true, std::memory_order_relaxed); }

// Without SA_RESTART, so that the signal ends a wait for input or output.
void Catch(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void EndOnSignals(const std::string& command) {
  const std::size_t size = std::min(command.size(), command_name.size() - 1);
  std::copy_n(command.begin(), size, command_name.begin());
  sigset_t endings;
  sigemptyset(&endings);
  for (const int one : kEndings) {
    Catch(one, OnEnd);
    sigaddset(&endings, one);
  }
  // A process inherits the signals that its parent blocks.
  sigprocmask(SIG_UNBLOCK, &endings, nullptr);
}

void CatchInterrupts() { Catch(SIGINT, OnCaught); }

void CatchEndings() {
  Catch(SIGALRM, OnAlarm);
  for (const int one : kEndings) Catch(one, OnEnding);
}

bool Interrupted() { return caught.load(std::memory_order_relaxed) != 0; }

int TakeInterrupt() { return caught.exchange(0, std::memory_order_relaxed); }

LastWords::LastWords(std::string words) : words_(std::move(words)) {
  if (last_words.load(std::memory_order_relaxed) != nullptr) return;
  first_ = true;
  // Release: a handler on another thread reads the text.
  last_words.store(words_.c_str(), std::memory_order_release);
}

LastWords::~LastWords() {
  if (first_) last_words.store(nullptr, std::memory_order_release);
}

void CatchStopWishes() { Catch(SIGTSTP, OnStopWish); }

bool TakeStopWish() { return stop_wish.exchange(false, std::memory_order_relaxed); }

void StopHere() { kill(getpid(), SIGSTOP); }

}  // namespace assay::cli
