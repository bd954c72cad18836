#include "wire/grpc_status.h"

#include "base/text.h"

namespace assay::wire {
namespace {

grpc::StatusCode ToGrpcCode(base::Code code) {
  switch (code) {
    case base::Code::kOk:
      return grpc::StatusCode::OK;
    case base::Code::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case base::Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case base::Code::kConflict:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case base::Code::kReplaced:
      return grpc::StatusCode::ABORTED;
    case base::Code::kNotReady:
    case base::Code::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case base::Code::kExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case base::Code::kDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case base::Code::kUnsupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case base::Code::kInternal:
      break;
  }
  return grpc::StatusCode::INTERNAL;
}

base::Code FromGrpcCode(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return base::Code::kOk;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return base::Code::kInvalid;
    case grpc::StatusCode::NOT_FOUND:
      return base::Code::kNotFound;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ALREADY_EXISTS:
      return base::Code::kConflict;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return base::Code::kDenied;
    case grpc::StatusCode::ABORTED:
      return base::Code::kReplaced;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      return base::Code::kUnavailable;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return base::Code::kExhausted;
    case grpc::StatusCode::UNIMPLEMENTED:
      return base::Code::kUnsupported;
    default:
      return base::Code::kInternal;
  }
}

}  // namespace

grpc::Status ToGrpc(const base::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {ToGrpcCode(status.code()), base::Shown(status.text(), kStatusTextMax)};
}

base::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return base::Status::Ok();
  return {FromGrpcCode(status.error_code()), base::Shown(status.error_message(), kStatusTextMax)};
}

}  // namespace assay::wire
