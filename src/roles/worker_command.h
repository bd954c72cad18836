// `assay worker --in=N --out=N`: what an agent starts for one device. Not for people.
#pragma once

#include <optional>

namespace assay {

// The exit status, if these are the words of a worker.
std::optional<int> RunIfWorker(int argc, char** argv);

}  // namespace assay
