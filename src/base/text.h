// Outside text in messages: names and values that people, files and the wire gave us, made safe to
// print and short. Everything here answers with valid UTF-8 without control characters.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

inline constexpr std::size_t kShownBytes = 64;

// The text itself where it is short and printable. Control characters become \n or \u001b, bytes
// that are not UTF-8 become \xff; after max_bytes of output it is cut and ends in "...".
std::string Shown(std::string_view text, std::size_t max_bytes = kShownBytes);

// Shown() in double quotes: for values, where the limits of the text matter.
std::string Quoted(std::string_view text, std::size_t max_bytes = kShownBytes);

// As Shown(), but a long text loses its front: the end of a file's path says more.
std::string ShownEnd(std::string_view text, std::size_t max_bytes);

// One line for a log, a database cell or a protobuf string, of at most max_bytes: control
// characters become blanks, bytes that are not UTF-8 become '?', what is too long is cut at a
// character and ends in
// "...". What it makes it leaves as it is. REQUIRES: max_bytes >= 3.
std::string Printable(std::string_view text, std::size_t max_bytes);

// "1 entry" / "2 entries".
std::string Count(std::size_t count, std::string_view one, std::string_view many);

// Length of the valid UTF-8 sequence at the front of text, 1 to 4; 0: it is not UTF-8 (overlong
// forms and surrogates are not); -1: text ends within a sequence that is right so far. REQUIRES:
// !empty.
int Utf8Length(std::string_view text);

// C0, DEL, C1 or a change of writing direction at the front of text.
// REQUIRES: Utf8Length(text) > 0.
bool IsControl(std::string_view text);

// Characters (code points) of valid UTF-8.
std::size_t CharacterCount(std::string_view utf8);

}  // namespace assay
