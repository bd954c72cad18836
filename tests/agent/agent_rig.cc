#include "tests/agent/agent_rig.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <utility>

#include "base/log.h"

namespace assay::agent {

AgentOptions SimAgent(const std::string& coordinator, const support::TempDir& folder) {
  SetLogLevel(std::getenv("ASSAY_TEST_LOG") != nullptr ? base::LogLevel::kInfo
                                                       : base::LogLevel::kOff);
  AgentOptions options;
  options.coordinator = coordinator;
  options.node = "n1";
  options.state_dir = folder / "state";
  options.driver.kind = "sim";
  options.driver.Set("sim-devices", 4);
  options.driver.Set("sim-op-ms", 20);
  options.program = ASSAY_WORKER_FOR_TEST;
  return options;
}

std::unique_ptr<Agent> MustStart(AgentOptions options) {
  base::Result<std::unique_ptr<Agent>> agent = Agent::Start(std::move(options));
  if (!agent.ok()) FAIL(agent.status().text());
  return std::move(agent).value();
}

core::Assign Ranks(core::RunId run, std::int32_t count) {
  core::Assign assign;
  assign.run = run;
  assign.job = "job";
  for (std::int32_t i = 0; i < count; i++) assign.ranks.push_back({100 + i, i, core::OpSet(3)});
  assign.aic_deadline = 60'000;
  assign.p2p_deadline = 60'000;
  assign.kill_grace = 1'000;
  return assign;
}

}  // namespace assay::agent
