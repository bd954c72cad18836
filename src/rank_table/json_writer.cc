#include "rank_table/json_writer.h"

#include <algorithm>

#include "base/json_string.h"
#include "rank_table/json_text.h"

namespace assay::rank_table {
namespace {

std::string_view ValueAt(std::string_view source, std::size_t offset) {
  JsonWalker walker(source, offset);
  walker.Skip();
  return source.substr(offset, walker.offset() - offset);
}

// The length of the string literal at the front of value, including the quotes.
std::size_t LiteralLength(std::string_view value) {
  std::size_t end = 1;
  while (value[end] != '"') end += value[end] == '\\' ? 2 : 1;
  return end + 1;
}

}  // namespace

// Writes the comma before a value or key, if one is needed. A complete value never ends in an
// opening bracket, and a key always ends in a colon.
void JsonWriter::Separate() {
  const char last = written_.empty() ? '[' : written_.back();
  if (last != '[' && last != '{' && last != ':') written_ += ',';
}

void JsonWriter::OpenObject() {
  Separate();
  written_ += '{';
}

void JsonWriter::OpenArray() {
  Separate();
  written_ += '[';
}

void JsonWriter::String(std::string_view utf8) {
  Separate();
  base::AppendJsonString(utf8, &written_);
}

void JsonWriter::Number(std::string_view digits) {
  Separate();
  written_ += digits;
}

void JsonWriter::Key(std::string_view utf8) {
  Separate();
  base::AppendJsonString(utf8, &written_);
  written_ += ':';
}

void JsonWriter::Copy(std::size_t offset) {
  Separate();
  std::string_view value = ValueAt(source_, offset);
  while (!value.empty()) {
    // Copies up to the next white space or string, then copies a string completely.
    const std::size_t plain = std::min(value.find_first_of(" \t\r\n\""), value.size());
    written_ += value.substr(0, plain);
    value.remove_prefix(plain);
    if (value.empty()) break;
    const std::size_t length = value.front() == '"' ? LiteralLength(value) : 1;
    if (value.front() == '"') written_ += value.substr(0, length);
    value.remove_prefix(length);
  }
}

std::size_t JsonDepth(std::string_view source, std::size_t offset) {
  std::string_view value = ValueAt(source, offset);
  std::size_t depth = 0;
  std::size_t deepest = 0;
  while (!value.empty()) {
    const char c = value.front();
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
    value.remove_prefix(c == '"' ? LiteralLength(value) : 1);
  }
  return deepest;
}

}  // namespace assay::rank_table
