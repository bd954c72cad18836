// An agent with the sim driver and its state in a folder of its own, for tests.
#pragma once

#include <memory>
#include <string>

#include "agent/agent.h"
#include "core/fleet_message.h"
#include "tests/support/temp_dir.h"

namespace assay {

// Node n1, four devices whose ops take some milliseconds; the caller changes what it needs.
AgentOptions SimAgent(const std::string& coordinator, const TempDir& folder);

// Fails the test when it does not start.
std::unique_ptr<Agent> MustStart(AgentOptions options);

// Rank 100 + i on device i, both ops, deadlines far away.
Assign Ranks(RunId run, std::int32_t count);

}  // namespace assay
