#include "base/text.h"

namespace assay::base {
namespace {

unsigned Byte(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

std::string Hex(unsigned value, int digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 15];
  return text;
}

// The code point of the control character (one to three bytes) at the front of text.
unsigned ControlPoint(std::string_view text) {
  const unsigned first = Byte(text, 0);
  if (first < 0x80) return first;
  if (first < 0xE0) return ((first & 0x1F) << 6) | (Byte(text, 1) & 0x3F);
  return ((first & 0x0F) << 12) | ((Byte(text, 1) & 0x3F) << 6) | (Byte(text, 2) & 0x3F);
}

// Sets *piece to the printable form of the next character or invalid byte of text and returns how
// many bytes of text it covers.
std::size_t NextPiece(std::string_view text, std::string* piece) {
  const int length = Utf8Length(text);
  if (length <= 0) {
    *piece = "\\x" + Hex(Byte(text, 0), 2);
    return 1;
  }
  if (!IsControl(text)) {
    *piece = text.substr(0, static_cast<std::size_t>(length));
  } else if (text[0] == '\n') {
    *piece = "\\n";
  } else if (text[0] == '\t') {
    *piece = "\\t";
  } else {
    *piece = "\\u" + Hex(ControlPoint(text), 4);
  }
  return static_cast<std::size_t>(length);
}

}  // namespace

int Utf8Length(std::string_view text) {
  const unsigned first = Byte(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const int length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < static_cast<std::size_t>(length); ++i) {
    if (i == text.size()) return -1;
    const unsigned byte = Byte(text, i);
    if (i == 1 ? (byte < low || byte > high) : (byte & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool IsControl(std::string_view text) {
  const unsigned first = Byte(text, 0);
  if (first < 0x20 || first == 0x7F) return true;
  if (first == 0xC2) return text.size() > 1 && Byte(text, 1) < 0xA0;
  if (first != 0xE2 || text.size() < 3) return false;
  // U+202A..U+202E and U+2066..U+2069 change the direction of the text after them, so that a name
  // such as "txt.exe" displays as another one.
  const unsigned last = Byte(text, 2);
  return (Byte(text, 1) == 0x80 && last >= 0xAA && last <= 0xAE) ||
         (Byte(text, 1) == 0x81 && last >= 0xA6 && last <= 0xA9);
}

std::size_t CharacterCount(std::string_view utf8) {
  std::size_t count = 0;
  for (const char c : utf8) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::string Shown(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  std::string piece;
  while (!text.empty()) {
    text.remove_prefix(NextPiece(text, &piece));
    if (shown.size() + piece.size() > max_bytes) return shown + "...";
    shown += piece;
  }
  return shown;
}

std::string Printable(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  std::size_t fits = 0;  // the longest prefix of `shown` that leaves room for the dots
  while (!text.empty()) {
    if (shown.size() + 3 <= max_bytes) fits = shown.size();
    const int length = Utf8Length(text);
    const std::size_t taken = length <= 0 ? 1 : static_cast<std::size_t>(length);
    std::string_view piece = text.substr(0, taken);
    if (length <= 0) piece = "?";
    if (length > 0 && IsControl(text)) piece = " ";
    if (shown.size() + piece.size() > max_bytes) return shown.substr(0, fits) + "...";
    shown += piece;
    text.remove_prefix(taken);
  }
  return shown;
}

std::string Quoted(std::string_view text, std::size_t max_bytes) {
  return '"' + Shown(text, max_bytes) + '"';
}

std::string ShownEnd(std::string_view text, std::size_t max_bytes) {
  // One input byte becomes one to six output bytes: the last max_bytes of input are enough, and a
  // limit of 6 * max_bytes never cuts them.
  const bool cut = text.size() > max_bytes;
  if (cut) text.remove_prefix(text.size() - max_bytes);
  while (cut && !text.empty() && (Byte(text, 0) & 0xC0) == 0x80) text.remove_prefix(1);
  std::string shown = Shown(text, 6 * max_bytes);
  if (!cut && shown.size() <= max_bytes) return shown;
  std::size_t start = shown.size() <= max_bytes ? 0 : shown.size() - max_bytes;
  while (start < shown.size() && (Byte(shown, start) & 0xC0) == 0x80) ++start;
  return "..." + shown.substr(start);
}

std::string Count(std::size_t count, std::string_view one, std::string_view many) {
  std::string text = std::to_string(count);
  text += ' ';
  text += count == 1 ? one : many;
  return text;
}

}  // namespace assay::base
