// `assay job status --stdin`: reads lines "ID STATE" and sends them in order. The last word of a
// line is the state.
#pragma once

#include <optional>
#include <string>

#include "cli/client.h"
#include "cli/line_reader.h"

namespace assay::cli {

// Maximum length of a line: enough for an id, a state and blanks.
inline constexpr std::size_t kStateLineBytesMax = 4096;

// A parsed line. Either `problem` is set, or `id` and `state` are.
struct StateLine {
  std::int64_t number = 0;
  std::string id;
  std::string state;
  std::string problem;
};
// Returns no value for a blank line and for a comment (the first byte that is not blank is a #).
// Accepts any bytes; what is wrong with a line is in `problem`.
std::optional<StateLine> ReadStateLine(const Line& line);

// Sets the states read from standard input until it ends, or until a signal of CatchEndings()
// arrives. Returns the exit status.
int SetStatesFromInput(const std::string& command, const ClientFlags& client_flags);

}  // namespace assay::cli
