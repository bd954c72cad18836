#include "cli/table.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/text.h"

namespace assay::cli {

void Table::Add(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = base::Shown(cells[i], columns_[i].bytes_max);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = base::CharacterCount(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, base::CharacterCount(row[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](const auto& cell) {
    std::string one;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& value = cell(i);
      const std::string pad(widths[i] - base::CharacterCount(value), ' ');
      if (i > 0) one += "  ";
      one += columns_[i].align == Align::kRight ? pad + value : value + pad;
    }
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + '\n';
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return text;
}

std::string Fitted(std::string text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size() && count < width; ++count) {
    do {
      ++end;
    } while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  }
  text.resize(end);
  return text;
}

std::string TimeText(std::int64_t ms) {
  if (ms == 0) return "-";
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace assay::cli
