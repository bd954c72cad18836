// Starts a program that inherits pipes, and no other descriptor, from this process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace assay::base::process {

struct SpawnedProcess {
  pid_t pid = 0;
  UniqueFd pidfd;
  // This process's ends of the pipes; all are non-blocking.
  UniqueFd to;       // the child reads this at kChildIn
  UniqueFd from;     // the child writes this at kChildOut
  UniqueFd capture;  // the child's standard output and error, in the order it wrote them
};

inline constexpr int kChildIn = 3;
inline constexpr int kChildOut = 4;

// Runs `program` with argv {"assay", args...} in a session of its own, with /dev/null as standard
// input, default signal dispositions, no blocked signals, and no descriptor of this process except
// the pipes. The child gets this process's environment; variables in `env` are added or replace it.
//
// Thread safety: any thread; but see PR_SET_PDEATHSIG in worker_process.h.
// Errors: kUnavailable, with the failed step and its errno text.
Result<SpawnedProcess> Spawn(const std::string& program, const std::vector<std::string>& args,
                             const std::vector<std::string>& env);

}  // namespace assay::base::process
