#include <algorithm>
#include <cassert>

#include "rank_table/json_text.h"

namespace assay::rank_table {
namespace {

unsigned HexUnit(std::string_view digits) {
  unsigned unit = 0;
  for (const char c : digits) {
    unit = unit * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return unit;
}

void AppendUtf8(unsigned code_point, std::string* text) {
  const auto put = [text](unsigned byte) { *text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 63));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 63));
    put(0x80 | (code_point & 63));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 63));
    put(0x80 | ((code_point >> 6) & 63));
    put(0x80 | (code_point & 63));
  }
}

// Appends the character of the escape sequence at the front of raw and returns the length of the
// sequence. REQUIRES: the sequence is valid.
std::size_t AppendEscape(std::string_view raw, std::string* text) {
  constexpr std::string_view kLetters = "bfnrt";
  constexpr std::string_view kMeanings = "\b\f\n\r\t";
  if (raw[1] != 'u') {
    const std::size_t letter = kLetters.find(raw[1]);
    *text += letter == std::string_view::npos ? raw[1] : kMeanings[letter];
    return 2;
  }
  const unsigned unit = HexUnit(raw.substr(2, 4));
  if (unit < 0xD800 || unit > 0xDFFF) {
    AppendUtf8(unit, text);
    return 6;
  }
  AppendUtf8(0x10000 + ((unit - 0xD800) << 10) + (HexUnit(raw.substr(8, 4)) - 0xDC00), text);
  return 12;
}

}  // namespace

std::string_view WithArticle(JsonType type) {
  switch (type) {
    case JsonType::kNull:
      return "null";
    case JsonType::kFalse:
    case JsonType::kTrue:
      return "a boolean";
    case JsonType::kNumber:
      return "a number";
    case JsonType::kString:
      return "a string";
    case JsonType::kArray:
      return "an array";
    case JsonType::kObject:
      return "an object";
  }
  return "";
}

std::string JsonScalar::Text() const {
  if (!escaped) return std::string(raw);
  std::string text;
  for (std::string_view rest = raw; !rest.empty();) {
    const std::size_t plain = rest.substr(0, rest.find('\\')).size();
    text += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (!rest.empty()) rest.remove_prefix(AppendEscape(rest, &text));
  }
  return text;
}

JsonWalker::JsonWalker(std::string_view text) : text_(text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") position_ = 3;
  SkipSpace();
}

JsonWalker::JsonWalker(std::string_view text, std::size_t offset)
    : text_(text), position_(offset) {}

JsonType JsonWalker::type() const {
  switch (Current()) {
    case '{':
      return JsonType::kObject;
    case '[':
      return JsonType::kArray;
    case '"':
      return JsonType::kString;
    case 'n':
      return JsonType::kNull;
    case 't':
      return JsonType::kTrue;
    case 'f':
      return JsonType::kFalse;
    default:
      return JsonType::kNumber;
  }
}

void JsonWalker::SkipSpace() {
  while (position_ < text_.size() && static_cast<unsigned char>(Current()) <= ' ') ++position_;
}

bool JsonWalker::Enter(char close) {
  assert(type() == (close == '}' ? JsonType::kObject : JsonType::kArray));
  ++position_;
  SkipSpace();
  if (Current() != close) return true;
  ++position_;
  return false;
}

bool JsonWalker::Next(char close) {
  SkipSpace();
  const bool more = Current() != close;
  ++position_;
  if (more) SkipSpace();
  return more;
}

std::string_view JsonWalker::Key(std::string* decoded) {
  const JsonScalar key = String();
  SkipSpace();
  ++position_;  // the colon
  SkipSpace();
  if (!key.escaped) return key.raw;
  *decoded = key.Text();
  return *decoded;
}

JsonScalar JsonWalker::String() {
  JsonScalar scalar{JsonType::kString, false, position_, {}};
  const char* const first = text_.data() + position_ + 1;
  const char* last = first;
  for (; *last != '"'; ++last) {
    if (*last == '\\') {
      scalar.escaped = true;
      ++last;
    }
  }
  scalar.raw = {first, static_cast<std::size_t>(last - first)};
  position_ += scalar.raw.size() + 2;
  return scalar;
}

JsonScalar JsonWalker::Scalar() {
  if (type() == JsonType::kString) return String();
  JsonScalar scalar{type(), false, position_, {}};
  Skip();
  if (scalar.type == JsonType::kNumber) {
    scalar.raw = text_.substr(scalar.offset, position_ - scalar.offset);
  }
  return scalar;
}

void JsonWalker::Skip() {
  std::size_t depth = 0;
  do {
    switch (Current()) {
      case '"':
        String();
        break;
      case '{':
      case '[':
        ++depth;
        ++position_;
        break;
      case '}':
      case ']':
        --depth;
        ++position_;
        break;
      default:
        if (depth > 0) {
          ++position_;  // within brackets, any other byte can be skipped
        } else {
          position_ = std::min(text_.find_first_of(",]} \t\r\n", position_), text_.size());
        }
    }
  } while (depth > 0);
}

}  // namespace assay::rank_table
