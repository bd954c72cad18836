// Starts a named thread.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace assay::base {

// Makes *thread run `work`. name: the thread's name, at most 15 characters. what: the purpose of
// the thread, for the error text. kInternal: the system cannot create a thread.
Status StartThread(std::thread* thread, const std::string& what, const std::string& name,
                   std::function<void()> work);

}  // namespace assay::base
