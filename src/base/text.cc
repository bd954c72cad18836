#include "base/text.h"

#include <cassert>
#include <cstdint>

namespace assay {
namespace {

// The length of the valid UTF-8 sequence at the start of `text`, 0 when there is none (RFC 3629:
// no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string Printable(std::string_view text, std::size_t bytes_max) {
  assert(bytes_max >= 3);
  std::string out;
  std::size_t fits = 0;  // the longest prefix of `out` that leaves room for "..."
  while (!text.empty()) {
    if (out.size() <= bytes_max - 3) fits = out.size();
    const std::size_t length = SequenceLength(text);
    const std::size_t written = length == 0 ? 1 : length;
    if (out.size() + written > bytes_max) {
      out.resize(fits);
      return out + "...";
    }
    if (length == 0) {
      out += '?';
    } else if (length == 1) {
      out += IsControl(text[0]) ? ' ' : text[0];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(written);
  }
  return out;
}

}  // namespace assay
