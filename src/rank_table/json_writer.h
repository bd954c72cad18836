// Writes compact JSON: own values, and values copied from a text that passed CheckJson(), without
// building a tree.
//
// Memory: the text that is written. Lifetime: refers to the text it copies from. Thread safety:
// values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// A member of an object in the text: its key with escape sequences resolved, where its value is.
struct JsonMember {
  std::string key;
  std::size_t offset = 0;
};

class JsonWriter {
 public:
  explicit JsonWriter(std::string_view source) : source_(source) {}

  // Values: in an array, or after Key().
  void OpenObject();
  void CloseObject() { written_ += '}'; }
  void OpenArray();
  void CloseArray() { written_ += ']'; }
  void String(std::string_view utf8);
  void Number(std::string_view digits);
  void Copy(std::size_t offset);  // the value at offset of the source, without white space

  void Key(std::string_view utf8);
  void StringMember(std::string_view key, std::string_view utf8) {
    Key(key);
    String(utf8);
  }

  std::string Take() { return std::move(written_); }

 private:
  void Separate();
  void Quote(std::string_view utf8);

  const std::string_view source_;
  std::string written_;
};

// How deep the value at offset nests: 0 for what is no array and no object.
std::size_t JsonDepth(std::string_view source, std::size_t offset);

}  // namespace assay
