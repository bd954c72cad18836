// Reads strict JSON (RFC 8259) in two steps: CheckJson() checks the whole text and returns an error
// that a user can act on; JsonWalker then iterates over a text that passed, without building a
// tree.
//
// nlohmann::json, which the rest of Assay uses, does not fit: its tree of a large rank table takes
// 20 times the size of the file, and its event interface has no offsets of values. Tests compare
// both on many texts.
//
// Accepted beyond the standard: a UTF-8 byte order mark. Refused beyond the standard: a key that
// appears twice in an object, and nesting or objects beyond the limits.
//
// Memory: CheckJson() holds only the keys of open objects (at most limits.depth * limits.keys
// entries). Time is linear, except for sorting the keys of an object.
// Lifetime: every object here refers to the text it was made from.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay::rank_table {

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t keys = 10'000;  // in one object
};

struct JsonFault {
  bool at_end = false;     // the text is valid so far but incomplete; offset is its size
  std::size_t offset = 0;  // bytes from the start of the text
  std::string text;        // without the position, under 300 bytes
};

// Returns no value if text is one JSON value.
std::optional<JsonFault> CheckJson(std::string_view text, const JsonLimits& limits = {});

// The number, from 1, of the line that contains offset.
std::size_t LineAt(std::string_view text, std::size_t offset);

// Whether text has only white space, with or without a byte order mark or its first bytes.
bool IsBlank(std::string_view text);

enum class JsonType { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

// "a string", "an array" ...
std::string_view WithArticle(JsonType type);

// A value without its members or elements. kNull also stands for an absent member.
struct JsonScalar {
  JsonType type = JsonType::kNull;
  bool escaped = false;    // raw has escape sequences
  std::size_t offset = 0;  // of the value's first byte
  std::string_view raw;    // string: the text between the quotes; number: as written; else empty

  bool null() const { return type == JsonType::kNull; }
  std::string Text() const;  // raw with its escape sequences resolved
};

// Iterates over the members and elements of a text.
//
// A visitor may consume the value it gets with one call, completely; the walker skips a value that
// the visitor does not consume. A visitor that returns false ends the walk, and the walker must not
// be used further.
// REQUIRES: text passed CheckJson().
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view text);             // begins at the text's value
  JsonWalker(std::string_view text, std::size_t offset);  // begins at the value at offset

  JsonType type() const;
  std::size_t offset() const { return position_; }

  // visit(std::string_view key, JsonWalker& value) -> bool; key is valid during the call.
  // REQUIRES: type() == kObject.
  template <class Visit>
  bool Members(Visit&& visit) {
    for (bool more = Enter('}'); more; more = Next('}')) {
      std::string decoded;
      const std::string_view key = Key(&decoded);
      const std::size_t before = position_;
      if (!visit(key, *this)) return false;
      if (position_ == before) Skip();
    }
    return true;
  }

  // visit(std::size_t index, JsonWalker& value) -> bool. REQUIRES: type() == kArray.
  template <class Visit>
  bool Elements(Visit&& visit) {
    std::size_t index = 0;
    for (bool more = Enter(']'); more; more = Next(']')) {
      const std::size_t before = position_;
      if (!visit(index++, *this)) return false;
      if (position_ == before) Skip();
    }
    return true;
  }

  JsonScalar Scalar();  // consumes a value of any type
  void Skip();

 private:
  char Current() const { return text_[position_]; }
  void SkipSpace();
  // Moves past the opening bracket; past the closing one too, and returns false, if it is empty.
  bool Enter(char close);
  // Moves past the comma and returns true, or past the closing bracket and returns false.
  bool Next(char close);
  std::string_view Key(std::string* decoded);
  JsonScalar String();

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace assay::rank_table
