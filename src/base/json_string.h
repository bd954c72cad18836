// Writes JSON strings (RFC 8259).
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace assay::base {

// Appends the text in double quotes, with escape sequences for quotes, backslashes and control
// characters below U+0020. REQUIRES: valid UTF-8.
void AppendJsonString(std::string_view utf8, std::string* json);

}  // namespace assay::base
