// A scripted coordinator for tests: a real gRPC server with fleet.proto's service that records the
// agents' messages.
//
// Thread safety: any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "core/fleet_message.h"

namespace assay::fleet {
class CoordinatorMessage;
}  // namespace assay::fleet

namespace assay::agent {

inline constexpr int kTestWaitMs = 20'000;

class FakeCoordinator {
 public:
  // The agents' messages, over all streams.
  struct Heard {
    std::vector<core::Hello> hellos;
    std::vector<core::RunId> ready;
    std::vector<core::Progress> progress;
    std::map<core::OutcomeKey, std::vector<core::OutcomeReport>>
        outcomes;  // every report of each outcome
    std::vector<core::RunId> discarded;
    int heartbeats = 0;
    int streams = 0;                 // opened so far
    int open_streams = 0;            // open now
    std::vector<std::string> wrong;  // errors of invalid messages
    std::vector<std::string> order;  // "hello", "ready", ... of the newest stream
  };

  // port 0: any free port. Fails the test if it cannot listen.
  explicit FakeCoordinator(int port = 0);
  ~FakeCoordinator();

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // By default it answers a Hello with Welcome, acknowledges outcomes, and only records everything
  // else.
  void AckOutcomes(bool ack);
  // Refuses the next `times` Hellos with ALREADY_EXISTS.
  void Refuse(int times, const std::string& text);
  void Heartbeat(core::Ms heartbeat);

  // Sends to the newest stream; false if there is none.
  bool Say(const core::CoordinatorMessage& message);
  bool Say(const fleet::CoordinatorMessage& message);
  void EndStreams();

  // Waits until `done` is true for the recorded messages; false after kTestWaitMs.
  bool Until(const std::function<bool(const Heard&)>& done);
  Heard heard();

 private:
  class Service;
  int port_;
  std::unique_ptr<Service> service_;
};

// The outcome of a key. Fails the test if it was never reported, or if its reports differ.
core::OutcomeReport OutcomeOf(const FakeCoordinator::Heard& heard, core::RunId run,
                              std::int32_t rank, core::Op op);

}  // namespace assay::agent
