#include "cli/watch/live_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "cli/interrupt.h"

namespace assay::cli::watch {
namespace {

// xterm sequences, which all current terminals support: alternate screen, cursor, line wrapping.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr char kLeave[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
// How long a terminal whose output is stopped (Ctrl-S) may delay Leave.
constexpr int kLastWordsMs = 500;

}  // namespace

void LiveScreen::Enter() {
  if (entered_) return;
  entered_ = true;
  // Typed keys are not echoed and arrive without Enter. Ctrl-C and Ctrl-Z still send signals.
  if (isatty(input_) == 1 && tcgetattr(input_, &modes_) == 0) {
    termios quiet = modes_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    quiet.c_cc[VMIN] = 0;
    quiet.c_cc[VTIME] = 0;
    quiet_input_ = tcsetattr(input_, TCSADRAIN, &quiet) == 0;
  }
  Write(kEnter, false);
}

void LiveScreen::Leave() {
  if (!entered_) return;
  entered_ = false;
  Write(kLeave, true);
  if (quiet_input_) tcsetattr(input_, TCSANOW, &modes_);
  quiet_input_ = false;
}

LiveScreen::Size LiveScreen::size() const {
  Size size;
  winsize window{};
  if (ioctl(output_, TIOCGWINSZ, &window) != 0) return size;
  if (window.ws_row > 0) size.rows = window.ws_row;
  if (window.ws_col > 0) size.columns = window.ws_col;
  return size;
}

void LiveScreen::Draw(const std::string& page) {
  if (entered_) Write("\x1b[H" + page + "\x1b[0m\x1b[K\x1b[J", false);
}

char LiveScreen::Key() {
  pollfd wait{input_, POLLIN, 0};
  char key = 0;
  if (!quiet_input_ || poll(&wait, 1, 0) != 1 || read(input_, &key, 1) != 1) return 0;
  return key;
}

void LiveScreen::Write(const std::string& bytes, bool last_words) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    if (last_words) {
      pollfd wait{output_, POLLOUT, 0};
      if (poll(&wait, 1, kLastWordsMs) == 0) return;
    }
    const ssize_t wrote = write(output_, bytes.data() + done, bytes.size() - done);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
    // An interrupt such as Ctrl-C abandons the page; a resize of the window does not.
    const bool again = wrote >= 0 || errno == EINTR || errno == EAGAIN;
    if (!again || (!last_words && Interrupted())) return;
  }
}

}  // namespace assay::cli::watch
