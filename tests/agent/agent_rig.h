// Test helper: starts an agent with the sim driver and a state folder of its own.
#pragma once

#include <memory>
#include <string>

#include "agent/agent.h"
#include "core/fleet_message.h"
#include "tests/support/temp_dir.h"

namespace assay::agent {

// Options for node n1 with four devices whose ops take 20 ms; the caller may change them.
AgentOptions SimAgent(const std::string& coordinator, const support::TempDir& folder);

// Fails the test if the agent does not start.
std::unique_ptr<Agent> MustStart(AgentOptions options);

// Assigns rank 100 + i to device i for i < count, with both ops and deadlines of 60 s.
core::Assign Ranks(core::RunId run, std::int32_t count);

}  // namespace assay::agent
