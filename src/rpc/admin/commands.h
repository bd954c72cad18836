// Translates the operators' commands (proto/admin.proto) into events of the core, and the core's
// answers into responses.
//
// Each function returns the handling of one RPC for Command::Serve; unary_call.h names the threads.
// The pointers outlive the calls.
#pragma once

#include "control/task_thread.h"
#include "rpc/admin/reads.h"
#include "rpc/unary_call.h"

namespace assay::rpc::admin {

Command::Handling ApplyJobHandling(control::TaskThread* reader, AdminReads* reads);
Command::Handling SetJobStateHandling();
Command::Handling DeleteJobHandling();
Command::Handling StartRunHandling();
Command::Handling CancelRunHandling();
Command::Handling ForgetNodeHandling();

}  // namespace assay::rpc::admin
