// Formats events, messages and effects as short lines for the trace of a simulation.
#pragma once

#include <string>

#include "core/effect.h"
#include "core/event.h"
#include "core/node/supervisor.h"

namespace assay::simulation {

std::string Text(const Event& event);
std::string Text(const Effect& effect);
std::string Text(const AgentMessage& message);
std::string Text(const CoordinatorMessage& message);
std::string Text(const NodeEvent& event);
std::string Text(const NodeEffect& effect);
std::string Text(const OutcomeKey& key);

}  // namespace assay::simulation
