// The stress-test calls of ClusterD's service Recover (docs/wire.md 3, 4 and 9). It only translates
// requests and posts them to the control loop. The other calls of Recover answer UNIMPLEMENTED with
// a text that names the method, and without a log line, because training agents repeat them every
// few seconds.
//
// Thread safety: gRPC's threads call it.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "control/task_thread.h"
#include "rpc/gate.h"

namespace assay::rpc {

// The pointers outlive the service and its streams.
std::unique_ptr<grpc::Service> MakeRecoverService(const Gate* gate, control::TaskThread* parser);

}  // namespace assay::rpc
