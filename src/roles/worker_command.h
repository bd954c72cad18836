// `assay worker --in=N --out=N`: the process that an agent starts for one device; N are file
// descriptors. Internal: users do not run it.
#pragma once

#include <optional>

namespace assay::roles {

// Runs the worker and returns its exit status if the arguments are those of a worker. Otherwise
// returns no value.
std::optional<int> RunIfWorker(int argc, char** argv);

}  // namespace assay::roles
