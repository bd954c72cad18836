// Ends a call, stream or link immediately with a status, before any object of ours exists for it.
// The reactors finish in their constructors and delete themselves; gRPC accepts that before the
// method has returned them.
//
// Thread safety: from gRPC's threads, inside the method of the call.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/status.h"

namespace assay::rpc {

grpc::ServerUnaryReactor* RefuseCall(const base::Status& status);
grpc::ServerWriteReactor<grpc::ByteBuffer>* RefuseStream(const base::Status& status);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RefuseLink(const base::Status& status);

}  // namespace assay::rpc
