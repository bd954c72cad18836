// The agent's role: attaches to a coordinator and puts this machine's devices through the tests it
// is given.
//
//   Result<std::unique_ptr<Agent>> agent = Agent::Start(options);
//   ...
//   (*agent)->RequestStop();                  // the first SIGTERM
//   while (!(*agent)->Wait(1000)) {}          // a second one: ForceStop()
//
// An agent that is destroyed without having stopped ends as if it had been killed: its workers die,
// and the next one on the same state folder takes up what was stored.
//
// Thread safety: any thread, one call at a time. One thread of its own does all the work.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/model.h"
#include "driver/driver.h"

namespace assay {

struct AgentOptions {
  std::string coordinator;  // host:port
  std::string node;         // this agent's name; "": the host name
  std::string state_dir;
  driver::Options driver;
  Ms stop_grace = 600'000;      // how long an op under way is waited for after RequestStop
  Ms commit_patience = 10'000;  // a disk that takes no records for so long ends what runs
  std::string program = "/proc/self/exe";  // for workers: `PROGRAM worker --in=N --out=N`
  std::vector<std::string> worker_env;     // NAME=value, added to their environment
};

class Agent {
 public:
  // Returns when the state folder is taken, the stored runs are loaded and the devices are known;
  // the coordinator need not be there. kInvalid: an option is wrong; kConflict: another agent uses
  // the state folder; kUnavailable: the folder cannot be written or the driver does not answer.
  static Result<std::unique_ptr<Agent>> Start(AgentOptions options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // No more work is taken; the op under way is waited for.
  void RequestStop();
  // The op under way is ended, the devices are made safe, what can be answered is.
  void ForceStop();
  // True when it has stopped; false after timeout_ms.
  bool Wait(int timeout_ms);

  const std::string& node() const;

 private:
  class Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
