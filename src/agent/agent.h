// The agent role: attaches to a coordinator and runs the tests that the coordinator assigns on this
// machine's devices.
//
//   Result<std::unique_ptr<Agent>> agent = Agent::Start(options);
//   ...
//   (*agent)->RequestStop();                  // on the first SIGTERM
//   while (!(*agent)->Wait(1000)) {}          // on a second SIGTERM: ForceStop()
//
// Thread safety: any thread, one call at a time. The agent does all its work on one thread of its
// own.
// Lifetime: destroying an agent that has not stopped ends it as a kill would: its workers die, and
// the next agent on the same state folder continues from the stored state.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "core/model.h"
#include "driver/driver.h"

namespace assay::agent {

struct AgentOptions {
  std::string coordinator;  // host:port
  std::string node;         // this agent's name; empty: the host name
  std::string state_dir;
  driver::Options driver;
  // How long RequestStop waits for a running op.
  core::Ms stop_grace = 600'000;
  // How long commits may fail before the agent kills the running tests.
  core::Ms commit_timeout = 10'000;
  // The worker program, started as `PROGRAM worker --in=N --out=N`.
  std::string program = "/proc/self/exe";
};

class Agent {
 public:
  // Returns once the state folder is locked, the stored runs are loaded and the devices are listed.
  // Does not need a reachable coordinator. kInvalid: an option is wrong; kConflict: another agent
  // uses the state folder; kUnavailable: the folder cannot be written or the driver does not
  // answer.
  static base::Result<std::unique_ptr<Agent>> Start(const AgentOptions& options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Accepts no more work and waits for the running ops (up to stop_grace).
  void RequestStop();
  // Ends the running ops, makes the devices safe and reports the outcomes it can.
  void ForceStop();
  // True once the agent has stopped; false after timeout_ms.
  bool Wait(int timeout_ms);

  const std::string& node() const;

 private:
  class Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::agent
