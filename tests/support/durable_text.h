// All of a Durable as text, a line for each thing: equal texts, equal states.
#pragma once

#include <string>

#include "core/model.h"

namespace assay {

std::string DurableText(const Durable& durable);

// The first line in which two texts differ, cut to a readable length; "" for equal texts.
std::string FirstDifference(const std::string& is, const std::string& should_be);

}  // namespace assay
