// ClusterD's service job.Job (docs/wire.md 3, 6 and 9), with which platforms follow the state of
// every job. It only translates requests and posts them to the control loop.
//
// Thread safety: gRPC's threads call it.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <cstddef>
#include <memory>

#include "control/ports.h"
#include "control/task_thread.h"
#include "rpc/gate.h"

namespace assay::rpc {

// board: notified when a subscriber's stream has room again. subscriber_buffer: bytes that may be
// unwritten per subscriber. The pointers outlive the service and its streams.
std::unique_ptr<grpc::Service> MakeJobService(const Gate* gate, control::TaskThread* parser,
                                              control::RoomListener* board,
                                              std::size_t subscriber_buffer);

}  // namespace assay::rpc
