// Starts a thread that has a name, or says why there is none.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace assay {

// what: who needs it, for the error. name: of the thread, at most 15 characters. `thread` runs
// `work`; kInternal: the system gives none.
Status StartThread(std::thread* thread, const std::string& what, const std::string& name,
                   std::function<void()> work);

}  // namespace assay
