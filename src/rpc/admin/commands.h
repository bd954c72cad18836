// The operators' commands as events of the core, and the core's answers as responses.
//
// Translate runs on a thread of gRPC or on the parser's, Respond on the control loop's.
#pragma once

#include "control/task_thread.h"
#include "rpc/admin/reads.h"
#include "rpc/unary_call.h"

namespace assay {

Command::Handling ApplyJobHandling(Worker* reader, AdminReads* reads);
Command::Handling SetJobStateHandling();
Command::Handling DeleteJobHandling();
Command::Handling StartRunHandling();
Command::Handling CancelRunHandling();
Command::Handling ForgetNodeHandling();

}  // namespace assay
