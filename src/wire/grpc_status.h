// Converts our Status to gRPC's and back.
//
//   kInvalid      INVALID_ARGUMENT        kUnavailable  UNAVAILABLE
//   kNotFound     NOT_FOUND               kExhausted    RESOURCE_EXHAUSTED
//   kConflict     FAILED_PRECONDITION     kUnsupported  UNIMPLEMENTED
//   kNotReady     UNAVAILABLE             kInternal     INTERNAL
//   kReplaced     ABORTED                 kDenied       PERMISSION_DENIED
//
// FromGrpc maps every gRPC code to the nearest of ours and never returns kNotReady. Both directions
// cut the text to kStatusTextMax bytes of printable UTF-8: it travels in trailers, for which
// clients allow 8 KB in all.
//
// Thread safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>

#include "base/status.h"

namespace assay::wire {

inline constexpr std::size_t kStatusTextMax = 1000;

grpc::Status ToGrpc(const base::Status& status);
base::Status FromGrpc(const grpc::Status& status);

}  // namespace assay::wire
