// Parses and serialises messages as gRPC byte buffers, on the thread that Assay chooses. So the
// bytes of one message can go to many streams, and an invalid message gets a clear status (gRPC's
// own typed methods answer UNIMPLEMENTED without a text).
//
// Thread safety: pure functions. A Bytes may be written to many streams at once.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "base/status.h"
#include "control/ports.h"

namespace assay::rpc {

// kInvalid when the bytes are not a message of that type (damaged, or a text that is not UTF-8).
base::Status ParseBytes(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite* message);

// REQUIRES: the message is under 2 GiB.
grpc::ByteBuffer Serialise(const google::protobuf::MessageLite& message);
inline control::Bytes SharedBytes(const google::protobuf::MessageLite& message) {
  return std::make_shared<const grpc::ByteBuffer>(Serialise(message));
}

// The encoder for the messages of Recover and of the job service.
std::unique_ptr<control::Encoder> MakeEncoder();

}  // namespace assay::rpc
