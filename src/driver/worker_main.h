// The worker process, which the agent starts for one device of one run:
// `assay worker --in=N --out=N`.
//
// One thread reads frames from `in_fd`, calls the driver, and writes frames to `out_fd`; it reads
// nothing during a call. The process ends on Quit, when the pipe closes, and (by SIGKILL from the
// kernel) when the agent's thread that started it ends. It ignores SIGTERM, SIGINT and SIGHUP: a
// service manager or a terminal sends them to every process of the agent, but only the agent
// decides when a test ends.
#pragma once

namespace assay::driver {

inline constexpr int kWorkerQuit = 0;
inline constexpr int kWorkerBadFrame = 65;    // an invalid message or descriptor; stderr has why
inline constexpr int kWorkerPipeClosed = 66;  // the agent has closed its end of a pipe

// Returns the exit status. Call it early in main(): it needs nothing of the agent's set-up.
int RunWorker(int in_fd, int out_fd);

}  // namespace assay::driver
