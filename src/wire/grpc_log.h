// Sends what gRPC and protobuf have to say to our log, at debug level: they print to standard error
// by themselves, a line for every bad request, though whoever asked gets a clear status anyway.
//
// Thread safety: any thread; the first call does it.
#pragma once

namespace assay {

void QuietGrpc();

}  // namespace assay
