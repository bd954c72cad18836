#include "wire/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <mutex>
#include <string>

#include "base/log.h"

namespace assay::wire {
namespace {

void FromGrpcLog(gpr_log_func_args* args) {
  const std::string text = std::string("grpc: ") + args->message;
  // gRPC logs this just before it aborts the process.
  if (text.find("assertion") != std::string::npos) return base::LogError(text);
  base::LogDebug(text);
}

void FromProtobufLog(google::protobuf::LogLevel level, const char*, int,
                     const std::string& message) {
  if (level == google::protobuf::LOGLEVEL_FATAL) {
    base::LogError("protobuf: " + message);
  } else {
    base::LogDebug("protobuf: " + message);
  }
}

}  // namespace

void QuietGrpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(FromGrpcLog);
    google::protobuf::SetLogHandler(FromProtobufLog);
  });
}

}  // namespace assay::wire
