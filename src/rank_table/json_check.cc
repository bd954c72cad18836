#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "base/text.h"
#include "rank_table/json_text.h"

namespace assay::rank_table {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Objects with at most this many keys are checked for repeated keys pair by pair; the keys of
// larger objects are sorted.
constexpr std::size_t kPairwiseKeys = 8;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The bytes that need no further check inside a string.
constexpr std::array<bool, 256> PlainBytes() {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}
constexpr std::array<bool, 256> kPlain = PlainBytes();

struct KeyAt {
  std::string_view key;
  std::size_t offset;
};

// A recursive descent parser, bounded by limits.depth. Each step returns false once fault_ is set.
class Checker {
 public:
  Checker(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  std::optional<JsonFault> Check() {
    if (text_.substr(0, 3) == kByteOrderMark) position_ = 3;
    if (SkipSpace() && Value(1) && SkipSpace() && !AtEnd()) {
      Fail(position_, "unexpected text after the end of the table, found " + Found());
    }
    return fault_;
  }

 private:
  bool AtEnd() const { return position_ == text_.size(); }
  char Current() const { return text_[position_]; }

  bool Fail(std::size_t offset, std::string text) {
    fault_ = JsonFault{false, offset, std::move(text)};
    return false;
  }
  bool FailAtEnd() {
    fault_ = JsonFault{true, text_.size(), {}};
    fault_->text = "unexpected end of file at offset " + std::to_string(text_.size()) +
                   ": file may still be being written";
    return false;
  }

  // The text at the current position, for messages.
  std::string Found() const {
    std::size_t end = position_;
    while (end < text_.size() && end - position_ < 24 && IsWord(text_[end])) ++end;
    if (end > position_) return '"' + std::string(text_.substr(position_, end - position_)) + '"';
    const int length = base::Utf8Length(text_.substr(position_));
    const auto bytes = static_cast<std::size_t>(length > 0 ? length : 1);
    return "'" + base::Shown(text_.substr(position_, bytes)) + "'";
  }

  bool SkipSpace() {
    while (!AtEnd()) {
      const char c = Current();
      if (c == '/' || c == '#') return Fail(position_, "comments are not allowed in JSON");
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
      ++position_;
    }
    return true;
  }

  bool Value(std::size_t depth) {
    if (AtEnd()) return FailAtEnd();
    const char c = Current();
    if ((c == '{' || c == '[') && depth > limits_.depth) {
      return Fail(position_, "nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    if (c == '{') return Object(depth);
    if (c == '[') return Array(depth);
    if (c == '"') return String(nullptr);
    if (c == '-' || IsDigit(c)) return Number();
    if (IsWord(c)) return Word();
    return Fail(position_, "expected a value, found " + Found());
  }

  bool Object(std::size_t depth) {
    const std::size_t first_key = keys_.size();
    const std::size_t first_decoded = decoded_.size();
    ++position_;
    if (!SkipSpace()) return false;
    if (AtEnd()) return FailAtEnd();
    for (bool more = Current() != '}'; more;) {
      if (!Member(depth, first_key) || !Separator('}', &more)) return false;
    }
    ++position_;
    if (!CheckKeys(first_key)) return false;
    keys_.resize(first_key, {});
    decoded_.resize(first_decoded);
    return true;
  }

  bool Member(std::size_t depth, std::size_t first_key) {
    if (Current() != '"') {
      return Fail(position_, "expected a key in double quotes, found " + Found());
    }
    if (keys_.size() - first_key == limits_.keys) {
      return Fail(position_, "more than " + std::to_string(limits_.keys) + " keys in one object");
    }
    JsonScalar key;
    if (!String(&key) || !SkipSpace()) return false;
    if (AtEnd()) return FailAtEnd();
    if (key.escaped) key.raw = decoded_.emplace_back(key.Text());
    keys_.push_back({key.raw, key.offset});
    if (Current() != ':') {
      return Fail(position_,
                  "expected ':' after key " + base::Quoted(key.raw) + ", found " + Found());
    }
    ++position_;
    return SkipSpace() && Value(depth + 1) && SkipSpace();
  }

  bool Array(std::size_t depth) {
    ++position_;
    if (!SkipSpace()) return false;
    if (AtEnd()) return FailAtEnd();
    elements_ = 0;
    std::size_t elements = 0;
    for (bool more = Current() != ']'; more;) {
      if (!Value(depth + 1) || !SkipSpace()) return false;
      elements_ = ++elements;  // nested arrays have changed it
      if (!Separator(']', &more)) return false;
    }
    ++position_;
    return true;
  }

  // Checks the text after a member or an element: a comma and then another one (*more is true), or
  // the closing bracket, which is not consumed.
  bool Separator(char close, bool* more) {
    if (AtEnd()) return FailAtEnd();
    const std::size_t comma = position_;
    *more = Current() == ',';
    if (!*more) return Current() == close || FailSeparator(close);
    ++position_;
    if (!SkipSpace()) return false;
    if (AtEnd()) return FailAtEnd();
    if (Current() != close) return true;
    return Fail(comma, close == '}' ? "trailing comma in object" : "trailing comma in array");
  }

  bool FailSeparator(char close) {
    std::string text = "expected ',' or '";
    text += close;
    text += "' after ";
    text += close == '}' ? base::Shown(keys_.back().key) : "element " + std::to_string(elements_);
    return Fail(position_, text + ", found " + Found());
  }

  bool CheckKeys(std::size_t first) {
    const std::size_t count = keys_.size() - first;
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    if (count <= kPairwiseKeys) {
      for (auto key = begin; key != keys_.end(); ++key) {
        const auto same = [key](const KeyAt& other) { return other.key == key->key; };
        if (std::find_if(begin, key, same) != key) return FailRepeated(*key);
      }
      return true;
    }
    std::sort(begin, keys_.end(), [](const KeyAt& a, const KeyAt& b) {
      return a.key != b.key ? a.key < b.key : a.offset < b.offset;
    });
    const auto same = [](const KeyAt& a, const KeyAt& b) { return a.key == b.key; };
    const auto pair = std::adjacent_find(begin, keys_.end(), same);
    return pair == keys_.end() || FailRepeated(*(pair + 1));
  }
  bool FailRepeated(const KeyAt& key) {
    return Fail(key.offset, "key " + base::Quoted(key.key) + " appears twice in one object");
  }

  // Sets *scalar to the text between the quotes, unless scalar is null.
  bool String(JsonScalar* scalar) {
    const std::size_t open = position_++;
    bool escaped = false;
    for (;;) {
      while (!AtEnd() && kPlain[static_cast<unsigned char>(Current())]) ++position_;
      if (AtEnd()) return FailAtEnd();
      const auto byte = static_cast<unsigned char>(Current());
      if (byte == '"') break;
      if (byte == '\\') {
        escaped = true;
        if (!Escape()) return false;
      } else if (byte < 0x20) {
        return Fail(position_, "control character '" + base::Shown(text_.substr(position_, 1)) +
                                   "' in a string (is a closing quote missing?)");
      } else {
        const int length = base::Utf8Length(text_.substr(position_));
        if (length < 0) return FailAtEnd();
        if (length == 0) {
          return Fail(position_,
                      "not UTF-8: byte '" + base::Shown(text_.substr(position_, 1)) + "'");
        }
        position_ += static_cast<std::size_t>(length);
      }
    }
    if (scalar != nullptr) {
      *scalar = {JsonType::kString, escaped, open, text_.substr(open + 1, position_ - open - 1)};
    }
    ++position_;
    return true;
  }

  bool Escape() {
    const std::size_t start = position_++;
    if (AtEnd()) return FailAtEnd();
    const char c = text_[position_++];
    if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) return true;
    if (c != 'u') return Fail(start, "unknown escape sequence in a string");
    unsigned unit = 0;
    if (!HexUnit(start, &unit)) return false;
    if (unit < 0xD800 || unit > 0xDFFF) return true;
    // A character beyond U+FFFF is written as a pair of surrogates; one of them alone is invalid.
    for (const char expected : std::string_view("\\u")) {
      if (AtEnd()) return FailAtEnd();
      if (unit > 0xDBFF || text_[position_++] != expected) return FailSurrogate(start);
    }
    unsigned low = 0;
    if (!HexUnit(start, &low)) return false;
    return (low >= 0xDC00 && low <= 0xDFFF) || FailSurrogate(start);
  }
  bool FailSurrogate(std::size_t start) { return Fail(start, "unpaired surrogate in a string"); }

  bool HexUnit(std::size_t start, unsigned* unit) {
    for (int i = 0; i < 4; ++i) {
      if (AtEnd()) return FailAtEnd();
      const char c = text_[position_++];
      const char lower = static_cast<char>(c | 0x20);
      if (!IsDigit(c) && (lower < 'a' || lower > 'f')) {
        return Fail(start, "\\u needs four hexadecimal digits");
      }
      *unit = *unit * 16 + static_cast<unsigned>(IsDigit(c) ? c - '0' : lower - 'a' + 10);
    }
    return true;
  }

  bool Digits() {
    if (AtEnd()) return FailAtEnd();
    if (!IsDigit(Current())) return Fail(position_, "malformed number, found " + Found());
    while (!AtEnd() && IsDigit(Current())) ++position_;
    return true;
  }

  bool Number() {
    if (Current() == '-') ++position_;
    const std::size_t first = position_;
    if (!Digits()) return false;
    if (text_[first] == '0' && position_ > first + 1) {
      return Fail(first, "number with a leading zero, which JSON does not allow (quote it?)");
    }
    if (!AtEnd() && Current() == '.') {
      ++position_;
      if (!Digits()) return false;
    }
    if (AtEnd() || (Current() | 0x20) != 'e') return true;
    ++position_;
    if (!AtEnd() && (Current() == '+' || Current() == '-')) ++position_;
    return Digits();
  }

  bool Word() {
    std::size_t end = position_;
    while (end < text_.size() && IsWord(text_[end])) ++end;
    const std::string_view word = text_.substr(position_, end - position_);
    for (const std::string_view known : {"true", "false", "null"}) {
      if (word == known) {
        position_ = end;
        return true;
      }
      if (end == text_.size() && known.substr(0, word.size()) == word) return FailAtEnd();
    }
    return Fail(position_, "expected a value, found " + Found());
  }

  const std::string_view text_;
  const JsonLimits limits_;
  std::size_t position_ = 0;
  std::size_t elements_ = 0;         // elements so far of the array whose separator is checked
  std::vector<KeyAt> keys_;          // of all open objects, the outermost first
  std::deque<std::string> decoded_;  // decoded keys; a deque, so that keys_ can refer to them
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> CheckJson(std::string_view text, const JsonLimits& limits) {
  return Checker(text, limits).Check();
}

std::size_t LineAt(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

bool IsBlank(std::string_view text) {
  const std::size_t mark = std::min(text.size(), kByteOrderMark.size());
  if (text.substr(0, mark) == kByteOrderMark.substr(0, mark)) text.remove_prefix(mark);
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace assay::rank_table
