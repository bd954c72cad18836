// The limit on open files (RLIMIT_NOFILE) of this process.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <limits>

namespace assay::base {

inline constexpr std::uint64_t kNoOpenFilesLimit = std::numeric_limits<std::uint64_t>::max();

// The number of descriptors that this process can have open, or kNoOpenFilesLimit.
std::uint64_t OpenFilesLimit();

// Raises the limit, often 1024, as far as the system allows without privileges (to the hard limit):
// thousands of agents and subscribers need a descriptor each. The limit stays as it is if that
// fails.
void RaiseOpenFilesLimit();

}  // namespace assay::base
