// Text from outside (a driver, a dead process, a file) made fit for a log line, a database cell or
// a protobuf string field, which refuses invalid UTF-8.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

// `text` as one line of valid UTF-8 of at most `bytes_max` bytes: control characters become blanks,
// bytes that are not UTF-8 become '?', and what is too long is cut at a character and ends in
// "...". REQUIRES: bytes_max >= 3.
std::string Printable(std::string_view text, std::size_t bytes_max);

}  // namespace assay
