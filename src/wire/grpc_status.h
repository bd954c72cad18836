// Our Status and gRPC's, in one place.
//
//   kInvalid      INVALID_ARGUMENT        kUnavailable  UNAVAILABLE
//   kNotFound     NOT_FOUND               kExhausted    RESOURCE_EXHAUSTED
//   kConflict     FAILED_PRECONDITION     kUnsupported  UNIMPLEMENTED
//   kNotReady     UNAVAILABLE             kInternal     INTERNAL
//   kReplaced     ABORTED                 kDenied       PERMISSION_DENIED
//
// The other way every code of gRPC finds its nearest one here; kNotReady never comes back.
// A text is cut to kStatusTextMax bytes of printable UTF-8: it travels in trailers, for which
// clients allow 8 KB in all.
//
// Thread safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>

#include "base/status.h"

namespace assay {

inline constexpr std::size_t kStatusTextMax = 1000;

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

}  // namespace assay
