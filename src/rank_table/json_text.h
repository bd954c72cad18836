// Strict JSON (RFC 8259) in two steps, for files that people and half-written programs give us:
// CheckJson() judges the whole text and says what is wrong in words a person can act on; JsonWalker
// then goes through a text that passed, without building a tree.
//
// Why not the library that the rest of Assay uses: a tree of a large rank table takes 20 times the
// file, and an event interface has no places for values. Tests compare both on many texts.
//
// Allowed beyond the standard: a UTF-8 byte order mark. Refused though the standard is silent: keys
// that appear twice in an object, nesting and objects beyond the limits.
//
// Memory: CheckJson() holds the keys of open objects only (limits.depth * limits.keys entries at
// most). Time is linear, but for the sorting of an object's keys.
// Lifetime: everything here refers to the text it was made from. Thread safety: values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t keys = 10'000;  // in one object
};

struct JsonFault {
  bool at_end = false;     // right so far, but the text ends too soon; offset is its size
  std::size_t offset = 0;  // bytes from the start of the text
  std::string text;        // without place, under 300 bytes
};

// Nothing: text is one JSON value.
std::optional<JsonFault> CheckJson(std::string_view text, const JsonLimits& limits = {});

// The line, from 1, on which offset lies.
std::size_t LineAt(std::string_view text, std::size_t offset);

// Nothing but white space, with or without a byte order mark (or the first bytes of one).
bool IsBlank(std::string_view text);

enum class JsonType { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

// "a string", "an array" ...
std::string_view WithArticle(JsonType type);

// A value that is not walked into; kNull where a member is absent.
struct JsonScalar {
  JsonType type = JsonType::kNull;
  bool escaped = false;    // raw has escape sequences
  std::size_t offset = 0;  // of the value's first byte
  std::string_view raw;    // string: what is between the quotes; number: as written; others: empty

  bool null() const { return type == JsonType::kNull; }
  std::string Text() const;  // raw with its escape sequences resolved
};

// REQUIRES: text passed CheckJson(). Each visitor may consume the value it stands at, wholly, by
// one call; what it leaves is skipped. A visitor that answers false ends the walk, and the walker
// with it.
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view text);             // stands at the text's value
  JsonWalker(std::string_view text, std::size_t offset);  // stands at the value at offset

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

  JsonScalar Scalar();  // consumes the value, whatever it is
  void Skip();

 private:
  char Current() const { return text_[position_]; }
  void SkipSpace();
  bool Enter(char close);  // past the bracket; false: empty, past it all
  bool Next(char close);   // past a comma; false: past the closing bracket
  std::string_view Key(std::string* decoded);
  JsonScalar String();

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace assay
