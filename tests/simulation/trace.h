// Formats events, messages and effects as short lines for the trace of a simulation.
#pragma once

#include <string>

#include "core/effect.h"
#include "core/event.h"
#include "core/node/supervisor.h"

namespace assay::simulation {

std::string Text(const core::Event& event);
std::string Text(const core::Effect& effect);
std::string Text(const core::AgentMessage& message);
std::string Text(const core::CoordinatorMessage& message);
std::string Text(const core::node::NodeEvent& event);
std::string Text(const core::node::NodeEffect& effect);
std::string Text(const core::OutcomeKey& key);

}  // namespace assay::simulation
