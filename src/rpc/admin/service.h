// The operators' service (proto/admin.proto): jobs, runs and nodes.
//
// Commands become events for the control loop; queries are answered from the database on the
// reader's thread.
//
// Thread safety: gRPC's threads call it.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "control/task_thread.h"
#include "rpc/admin/reads.h"
#include "rpc/gate.h"

namespace assay::rpc::admin {

// reader: the gate's. The pointers outlive the service and its calls. reads: used on the reader's
// thread only.
std::unique_ptr<grpc::Service> MakeAdminService(const Gate* gate, control::TaskThread* parser,
                                                control::TaskThread* reader, AdminReads* reads);

}  // namespace assay::rpc::admin
