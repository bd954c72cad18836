// The agent's set of worker processes, with real ones.
#include "agent/workers.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tests/agent/fake_coordinator.h"

namespace assay::agent {
namespace {

constexpr core::node::WorkerKey kKey{1, 7};

WorkerSpec SimSpec(const std::string& plan) {
  WorkerSpec spec;
  spec.program = ASSAY_WORKER_FOR_TEST;
  spec.driver.kind = "sim";
  spec.driver.Set("sim-op-ms", 4);
  spec.driver.Set("sim", plan);
  return spec;
}

// Collects events until `done`; false after kTestWaitMs.
bool CollectUntil(Workers* workers, std::vector<core::node::NodeEvent>* events,
                  const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(kTestWaitMs);
  while (!done()) {
    if (Clock::now() > end) return false;
    pollfd look{workers->poll_fd(), POLLIN, 0};
    poll(&look, 1, 50);
    workers->Collect(0, events);
  }
  return true;
}

TEST_CASE("KillAll discards what its processes would still report", "[workers]") {
  Workers workers(SimSpec("0:aic=hang,1:open=hang"));
  std::vector<core::node::NodeEvent> events;
  workers.Perform(core::node::SpawnWorker{kKey, 0});
  REQUIRE(CollectUntil(&workers, &events, [&] { return !events.empty(); }));
  CHECK(std::holds_alternative<core::node::WorkerOpened>(events[0]));
  workers.Perform(core::node::RunAic{kKey});
  workers.Perform(core::node::MakeSafe{{1, 8}, 1, 60'000}, 0);
  events.clear();
  workers.KillAll();
  CHECK_FALSE(workers.empty());
  REQUIRE(CollectUntil(&workers, &events, [&] { return workers.empty(); }));
  CHECK(events.empty());
  // The key is free for a new process at once.
  workers.Perform(core::node::SpawnWorker{kKey, 2});
  REQUIRE(CollectUntil(&workers, &events, [&] { return !events.empty(); }));
  CHECK(std::holds_alternative<core::node::WorkerOpened>(events[0]));
}

TEST_CASE("destroying the workers ends their processes at once", "[workers]") {
  const auto begin = std::chrono::steady_clock::now();
  {
    Workers workers(SimSpec("0:open=hang,1:open=hang"));
    workers.Perform(core::node::SpawnWorker{kKey, 0});
    workers.Perform(core::node::SpawnWorker{{1, 8}, 1});
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(kTestWaitMs));
}

}  // namespace
}  // namespace assay::agent
