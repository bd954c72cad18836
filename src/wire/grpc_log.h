// Routes the log lines of gRPC and protobuf to our log at debug level (fatal ones at error level).
// By default they print a line to standard error for every bad request, although the client
// receives a clear status.
//
// Thread safety: any thread; only the first call has an effect.
#pragma once

namespace assay::wire {

void QuietGrpc();

}  // namespace assay::wire
