// A whole world from one number: a coordinator, three agents, their network, disks, workers and
// clients, and who follows the jobs. First anything may fail; then all is up and nothing is lost,
// and everything must come to its end: every run by its deadline (or resume_grace after the last
// start), every device free, every agent at rest with an empty spool. At last a test of every job
// on its agents must simply work.
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
#include "tests/simulation/world.h"

namespace assay::simulation {

class Simulation {
 public:
  static constexpr std::uint64_t kSteps = 4'000;  // of which anything may fail

  explicit Simulation(std::uint64_t seed, Canary canary = Canary::kNone,
                      std::uint64_t steps = kSteps);

  // What went wrong; "": nothing.
  std::string Run();

  World& world() { return world_; }
  const Checker& checker() const { return checker_; }

 private:
  static constexpr int kAgents = 3;

  void Wire();
  void WireAgent(int index);
  void Meddle(int agent);  // once a minute: a partition, a stop
  void Heal();
  bool Settle();
  void TestJob(const std::string& job);
  // Why it has not come to its end; "": it has.
  std::string Pending();

  World world_;
  Checker checker_;
  Links links_;
  Clients clients_;
  Followers followers_;
  Coordinator coordinator_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<Ms> apart_until_;  // agents' partitions
  const std::uint64_t steps_;
};

}  // namespace assay::simulation
