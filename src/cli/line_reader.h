// Reads lines from a file descriptor as they arrive: a pipe that stays open yields each line
// immediately, a file yields many lines together. The memory for a line is bounded.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::cli {

struct Line {
  std::int64_t number = 0;  // from 1
  // Without the newline. If the line is too long, only its first bytes.
  std::string text;
  bool too_long = false;
};

class LineReader {
 public:
  // The caller owns `fd` and closes it. A line may contain any byte. Of a line longer than
  // `line_bytes_max` the rest is dropped.
  LineReader(int fd, std::size_t line_bytes_max) : fd_(fd), line_bytes_max_(line_bytes_max) {}

  // Waits at most `timeout_ms` for input, reads it, and appends the lines that are now complete, if
  // any. At the end of the input it also appends a last line without a newline.
  base::Status Read(int timeout_ms, std::vector<Line>* lines);
  bool ended() const { return ended_; }

 private:
  void Take(const char* bytes, std::size_t size, std::vector<Line>* lines);
  void EndLine(std::vector<Line>* lines);

  const int fd_;
  const std::size_t line_bytes_max_;
  Line line_{1, "", false};
  bool begun_ = false;  // line_ has received a byte
  bool ended_ = false;
};

}  // namespace assay::cli
