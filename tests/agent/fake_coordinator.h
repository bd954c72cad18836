// A coordinator that does what a test says: a real gRPC server with fleet.proto's service, which
// remembers what agents say.
//
// Thread safety: any thread; `on_message` runs on the server's threads, one message at a time.
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

namespace assay {

namespace fleet {
class CoordinatorMessage;
}

inline constexpr int kTestWaitMs = 20'000;

class FakeCoordinator {
 public:
  // What agents said, over all streams.
  struct Heard {
    std::vector<Hello> hellos;
    std::vector<RunId> ready;
    std::vector<Progress> progress;
    std::map<OutcomeKey, std::vector<OutcomeReport>> outcomes;  // each time it was said
    std::vector<RunId> discarded;
    int heartbeats = 0;
    int streams = 0;                 // begun
    int open_streams = 0;            // not ended
    std::vector<std::string> wrong;  // what was no message
    std::vector<std::string> order;  // "hello", "ready", ... of the newest stream
  };

  // port 0: a free one. Fails the test when it cannot listen.
  explicit FakeCoordinator(int port = 0);
  ~FakeCoordinator();

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Defaults: a hello is welcomed, outcomes are acknowledged, everything else is only remembered.
  void AckOutcomes(bool ack);
  void Refuse(int times, const std::string& text);  // the next hellos, with ALREADY_EXISTS
  void Heartbeat(Ms heartbeat);

  // To the newest stream; false when there is none.
  bool Say(const CoordinatorMessage& message);
  bool Say(const fleet::CoordinatorMessage& message);
  void EndStreams();

  // Waits until `done` is true of what was heard; false after kTestWaitMs.
  bool Until(const std::function<bool(const Heard&)>& done);
  Heard heard();

 private:
  class Service;
  int port_;
  std::unique_ptr<Service> service_;
};

// The one outcome of a key; fails the test when it was never said or said differently.
OutcomeReport OutcomeOf(const FakeCoordinator::Heard& heard, RunId run, std::int32_t rank, Op op);

}  // namespace assay
