#include "wire/grpc_status.h"

#include "base/text.h"

namespace assay {
namespace {

grpc::StatusCode ToGrpcCode(Code code) {
  switch (code) {
    case Code::kOk:
      return grpc::StatusCode::OK;
    case Code::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Code::kConflict:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case Code::kReplaced:
      return grpc::StatusCode::ABORTED;
    case Code::kNotReady:
    case Code::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case Code::kExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::kDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Code::kUnsupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case Code::kInternal:
      break;
  }
  return grpc::StatusCode::INTERNAL;
}

Code FromGrpcCode(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return Code::kOk;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return Code::kInvalid;
    case grpc::StatusCode::NOT_FOUND:
      return Code::kNotFound;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ALREADY_EXISTS:
      return Code::kConflict;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return Code::kDenied;
    case grpc::StatusCode::ABORTED:
      return Code::kReplaced;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      return Code::kUnavailable;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Code::kExhausted;
    case grpc::StatusCode::UNIMPLEMENTED:
      return Code::kUnsupported;
    default:
      return Code::kInternal;
  }
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {ToGrpcCode(status.code()), Shown(status.text(), kStatusTextMax)};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status::Ok();
  return {FromGrpcCode(status.error_code()), Shown(status.error_message(), kStatusTextMax)};
}

}  // namespace assay
