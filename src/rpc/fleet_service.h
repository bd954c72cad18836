// The agents' service (proto/fleet.proto): one stream per node, which agent_link.h implements.
//
// Thread safety: gRPC's threads call it.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "control/task_thread.h"
#include "rpc/gate.h"

namespace assay::rpc {

// The pointers outlive the service and its links.
std::unique_ptr<grpc::Service> MakeFleetService(const Gate* gate, control::TaskThread* parser);

}  // namespace assay::rpc
