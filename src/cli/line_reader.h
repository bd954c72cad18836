// Lines of a file descriptor as they come: a pipe that stays open gives each line at once, a file
// gives many together. What one line can make grow is bounded.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay {

struct Line {
  std::int64_t number = 0;  // from 1
  std::string text;         // without its end; the first bytes of one that is too long
  bool too_long = false;
};

class LineReader {
 public:
  // fd stays the caller's. Any byte may stand in a line.
  LineReader(int fd, std::size_t line_bytes_max) : fd_(fd), line_bytes_max_(line_bytes_max) {}

  // Waits until there is something to read, at most timeout_ms, and appends the lines that are
  // whole now (perhaps none); at the end of the input also the last one without a newline.
  Status Read(int timeout_ms, std::vector<Line>* lines);
  bool ended() const { return ended_; }

 private:
  void Take(const char* bytes, std::size_t size, std::vector<Line>* lines);
  void EndLine(std::vector<Line>* lines);

  const int fd_;
  const std::size_t line_bytes_max_;
  Line line_{1, "", false};
  bool begun_ = false;  // the line has a byte
  bool ended_ = false;
};

}  // namespace assay
