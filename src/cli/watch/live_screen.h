// Shows one changing page on a terminal. It uses the alternate screen, so that the previous content
// returns at the end.
//
// Thread safety: none. Use at most one at a time.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>

namespace assay::cli::watch {

class LiveScreen {
 public:
  // Descriptors that the caller owns. `output` is a terminal, `input` may be one.
  LiveScreen(int input, int output) : input_(input), output_(output) {}
  ~LiveScreen() { Leave(); }
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Enter takes over the terminal, Leave restores it. A repeated call has no effect. Enter may
  // follow Leave.
  void Enter();
  void Leave();

  struct Size {
    std::size_t rows = 24;
    std::size_t columns = 80;
  };
  Size size() const;  // the current size
  // Draws from the top of the screen. The lines of `page` are separated by "\r\n" and must fit.
  void Draw(const std::string& page);
  // The next key that was pressed; 0 if there is none.
  char Key();

 private:
  void Write(const std::string& bytes, bool last_words);

  const int input_;
  const int output_;
  bool entered_ = false;
  bool quiet_input_ = false;  // modes of input_ were changed
  termios modes_{};           // modes of input_ before Enter
};

}  // namespace assay::cli::watch
