// The operators' service (proto/admin.proto): jobs, runs, nodes.
//
// What changes something becomes an event for the control loop; what only reads is answered from
// the database by the reader's thread. Thread safety: gRPC's threads.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "control/intake.h"
#include "control/task_thread.h"
#include "rpc/admin/reads.h"

namespace assay {

// The pointers outlive the service. reads: used on reader's thread only.
std::unique_ptr<grpc::Service> MakeAdminService(Intake* intake, Worker* parser, Worker* reader,
                                                AdminReads* reads);

}  // namespace assay
