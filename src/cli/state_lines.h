// `assay job status --stdin`: a line "ID STATE" each, sent in order. The last word of a line is the
// state.
#pragma once

#include <optional>
#include <string>

#include "cli/client.h"
#include "cli/line_reader.h"

namespace assay {

// Room for an id, a state and blanks.
inline constexpr std::size_t kStateLineBytesMax = 4096;

// What a line wants. Either problem or id and state.
struct StateLine {
  std::int64_t number = 0;
  std::string id;
  std::string state;
  std::string problem;
};
// No value: there is nothing in it (blank, or its first byte that is not is a #). Never fails,
// whatever the bytes.
std::optional<StateLine> ReadStateLine(const Line& line);

// Reads standard input to its end, Ctrl-C or SIGTERM and sets the states. Returns the exit status.
int SetStatesFromInput(const std::string& command, const ClientFlags& client_flags);

}  // namespace assay
