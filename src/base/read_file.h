// Reads a whole file from an open descriptor.
#pragma once

#include <cstddef>
#include <string>

namespace assay::base {

// Appends the content of the descriptor, from its position to the end, to *text. Stops early once
// *text is longer than bytes_max; it then has bytes_max + 1 bytes. Returns 0, or the errno of the
// failed read.
//
// Thread safety: one caller per descriptor.
int ReadToEnd(int fd, std::size_t bytes_max, std::string* text);

}  // namespace assay::base
