// A Durable as text, one line for each object. Equal texts mean equal states.
#pragma once

#include <string>

#include "core/model.h"

namespace assay::support {

std::string DurableText(const core::Durable& durable);

// The first line in which two texts differ, shortened to 400 bytes; "" for equal texts.
std::string FirstDifference(const std::string& is, const std::string& should_be);

}  // namespace assay::support
