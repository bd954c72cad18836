// A whole simulated world from one seed: a coordinator, three agents, their network, disks, workers
// and clients, and the subscribers of job signals.
//
// Run() has three phases:
//  1. Anything may fail.
//  2. The world heals: every process is up and no message is lost. Everything must come to rest:
//     every run ended by its deadline (or resume_grace after the last start), every device free,
//     every agent idle with an empty spool.
//  3. A test of every job on its agents must succeed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/agent.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/clients.h"
#include "tests/simulation/coordinator.h"
#include "tests/simulation/followers.h"
#include "tests/simulation/links.h"
#include "tests/simulation/streams.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Simulation {
 public:
  static constexpr std::uint64_t kSteps = 4'000;  // length of the phase in which anything may fail

  explicit Simulation(std::uint64_t seed, Canary canary = Canary::kNone,
                      std::uint64_t steps = kSteps);

  // Returns what went wrong; "" if nothing did.
  std::string Run();

  World& world() { return world_; }
  const Checker& checker() const { return checker_; }
  const Links& links() const { return links_; }

 private:
  static constexpr int kAgents = 3;

  void Wire();
  void WireCoordinator();
  void WireAgent(int index);
  void Meddle(int agent);  // once a minute: perhaps a partition, perhaps a stop
  void StopCoordinator();  // once a minute: perhaps
  void Released(const core::Effect& effect);
  void Heal();
  bool Settle();
  void TestJob(const std::string& job);
  // Why the world is not at rest; "" if it is.
  std::string Pending();

  World world_;
  Checker checker_;
  Links links_;
  Streams streams_;
  Clients clients_;
  Followers followers_;
  Coordinator coordinator_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<core::Ms> apart_until_;  // end of each agent's partition
  const std::uint64_t steps_;
};

}  // namespace assay::simulation
