// Writes compact JSON, from given values and from values copied out of a text that passed
// CheckJson(), without building a tree.
//
// Memory: the written text.
// Lifetime: refers to the text it copies from.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::rank_table {

class JsonWriter {
 public:
  explicit JsonWriter(std::string_view source) : source_(source) {}

  // Each of these writes a value, or begins or ends one: in an array, or after Key().
  void OpenObject();
  void CloseObject() { written_ += '}'; }
  void OpenArray();
  void CloseArray() { written_ += ']'; }
  void String(std::string_view utf8);
  void Number(std::string_view digits);
  void Copy(std::size_t offset);  // copies the value at offset of the source, without white space

  void Key(std::string_view utf8);
  void StringMember(std::string_view key, std::string_view utf8) {
    Key(key);
    String(utf8);
  }

  std::string Take() { return std::move(written_); }

 private:
  void Separate();

  const std::string_view source_;
  std::string written_;
};

// The nesting depth of the value at offset: 0 unless it is an array or an object.
std::size_t JsonDepth(std::string_view source, std::size_t offset);

}  // namespace assay::rank_table
