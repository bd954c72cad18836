// Starts named threads. Every thread of a role starts here, so that a system without room for
// another thread is an error that the caller handles, and not an exception.
//
// name: the thread's name, at most 15 characters. what: the purpose of the thread, for the error
// text. Errors: kInternal, the system cannot create a thread; the text says how to raise the limit.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace assay::base {

// Makes *thread run `work`.
Status StartThread(std::thread* thread, const std::string& what, const std::string& name,
                   std::function<void()> work);

// Starts a thread that no one joins. `work` owns everything it uses.
Status StartDetachedThread(const std::string& what, const std::string& name,
                           std::function<void()> work);

}  // namespace assay::base
