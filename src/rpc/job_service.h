// ClusterD's service job.Job (docs/wire.md 3, 6 and 9): platforms follow the state of every job.
//
// Only translates and posts. Thread safety: gRPC's threads.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <cstddef>
#include <memory>

#include "control/intake.h"
#include "control/task_thread.h"

namespace assay {

// subscriber_buffer: bytes that may wait for one subscriber. The pointers outlive the service and
// its streams.
std::unique_ptr<grpc::Service> MakeJobService(Intake* intake, Worker* parser, RoomListener* board,
                                              std::size_t subscriber_buffer);

}  // namespace assay
