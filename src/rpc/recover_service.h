// ClusterD's service Recover (docs/wire.md 3, 4 and 9), the calls of stress tests. The others
// answer UNIMPLEMENTED, without a log line: training agents repeat them every few seconds.
//
// Only translates and posts. Thread safety: gRPC's threads.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "control/intake.h"
#include "control/task_thread.h"

namespace assay {

// The pointers outlive the service.
std::unique_ptr<grpc::Service> MakeRecoverService(Intake* intake, Worker* parser);

}  // namespace assay
