// The agents' service (proto/fleet.proto): one stream a node. The stream itself is agent_link.h.
//
// Thread safety: gRPC's threads.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "control/intake.h"
#include "control/task_thread.h"

namespace assay {

// The pointers outlive the service.
std::unique_ptr<grpc::Service> MakeFleetService(Intake* intake, Worker* parser);

}  // namespace assay
