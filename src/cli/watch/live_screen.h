// A terminal that shows one page which changes: its other screen, so that what was there before
// comes back at the end.
//
// Thread safety: none; one at a time.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>

namespace assay {

class LiveScreen {
 public:
  // Both are descriptors; output is a terminal, input may be one.
  LiveScreen(int input, int output) : input_(input), output_(output) {}
  ~LiveScreen() { Leave(); }
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Takes the terminal, and gives it back as it was. Each may be called again.
  void Enter();
  void Leave();

  struct Size {
    std::size_t rows = 24;
    std::size_t columns = 80;
  };
  Size size() const;  // as it is now
  // Begins with the first line of the page. Lines end with "\r\n" but the last, and fit.
  void Draw(const std::string& page);
  // A key that was pressed since; 0: none.
  char Key();

 private:
  void Write(const std::string& bytes, bool last_words);

  const int input_;
  const int output_;
  bool entered_ = false;
  bool quiet_input_ = false;  // its modes were changed
  termios modes_{};           // as they were
};

}  // namespace assay
