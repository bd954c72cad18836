// A text table for a terminal: each column is as wide as its longest cell, numbers are aligned
// right. Cells may be text from outside: control characters in them never reach the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    std::size_t bytes_max = 60;  // longer cells are cut
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // The title line and the rows. Each line ends with a newline and has no trailing spaces.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` cut to `width` characters. REQUIRES: valid UTF-8.
std::string Fitted(std::string text, std::size_t width);

// "2026-01-02 03:04:05" in UTC; "-" for 0.
std::string TimeText(std::int64_t ms);

}  // namespace assay::cli
