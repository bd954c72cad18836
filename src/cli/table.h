// A table for people: columns as wide as their longest cell, numbers to the right. Cells are
// foreign text: control characters never reach a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    std::size_t bytes_max = 60;  // longer cells are cut
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell a column.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Lines with a title line first; each ends with a newline and has no space at its end.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Valid UTF-8, cut to `width` characters.
std::string Fitted(std::string text, std::size_t width);

// "2026-01-02 03:04:05" in UTC; "-" for 0.
std::string TimeText(std::int64_t ms);

}  // namespace assay
