// Events, messages and effects as short lines for people who follow a simulation.
#pragma once

#include <string>

#include "core/bench.h"
#include "core/effect.h"
#include "core/event.h"

namespace assay::simulation {

std::string Text(const Event& event);
std::string Text(const Effect& effect);
std::string Text(const AgentMessage& message);
std::string Text(const CoordinatorMessage& message);
std::string Text(const BenchEvent& event);
std::string Text(const BenchEffect& effect);
std::string Text(const OutcomeKey& key);

}  // namespace assay::simulation
