// Makes text from users, files and the wire short and safe to print in messages. Every function
// that returns text returns valid UTF-8 without control characters.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::base {

inline constexpr std::size_t kShownBytes = 64;

// The text itself if it is short and printable. Control characters become escape sequences (\n,
// \u001b), bytes that are not UTF-8 become \xff. Output longer than max_bytes is cut there and ends
// in "...".
std::string Shown(std::string_view text, std::size_t max_bytes = kShownBytes);

// Shown() in double quotes: for values, where the reader must see where the text begins and ends.
std::string Quoted(std::string_view text, std::size_t max_bytes = kShownBytes);

// As Shown(), but cuts the front of a long text: the end of a file's path tells more.
std::string ShownEnd(std::string_view text, std::size_t max_bytes);

// One line of at most max_bytes for a log, a database cell or a protobuf string: control characters
// become spaces, bytes that are not UTF-8 become '?', and longer text is cut between characters and
// ends in "...". Idempotent. REQUIRES: max_bytes >= 3.
std::string Printable(std::string_view text, std::size_t max_bytes);

// "1 entry" / "2 entries".
std::string Count(std::size_t count, std::string_view one, std::string_view many);

// Length of the valid UTF-8 sequence at the front of text, 1 to 4. 0: not UTF-8 (overlong forms and
// surrogates are not). -1: text ends within a sequence that is valid so far.
// REQUIRES: text is not empty.
int Utf8Length(std::string_view text);

// Whether text begins with C0, DEL, C1 or a character that changes the writing direction.
// REQUIRES: Utf8Length(text) > 0.
bool IsControl(std::string_view text);

// The number of characters (code points) in valid UTF-8.
std::size_t CharacterCount(std::string_view utf8);

}  // namespace assay::base
