// The worker process: what the agent starts for one device of one run, `assay worker --in=N
// --out=N`.
//
// One thread reads frames from `in_fd`, calls the driver, writes frames to `out_fd`; while a call
// lasts nothing is read. The process ends when it is told to quit, when the pipe closes, and (by
// SIGKILL from the kernel) when the thread of the agent that started it ends. SIGTERM, SIGINT and
// SIGHUP are ignored: a service manager or a terminal sends them to every process of the agent, but
// when a test ends is the agent's decision.
#pragma once

namespace assay::driver {

inline constexpr int kWorkerQuit = 0;
inline constexpr int kWorkerBadFrame = 65;    // the agent sent what is no message; said on stderr
inline constexpr int kWorkerPipeClosed = 66;  // nobody reads its answers any more

// Returns the exit status. Call it early in main(): nothing of the agent's is needed.
int RunWorker(int in_fd, int out_fd);

}  // namespace assay::driver
