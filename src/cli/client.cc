#include "cli/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "base/text.h"
#include "wire/grpc_status.h"

namespace assay::cli {
namespace {

// Larger than a job of 65,536 ranks or a page of results.
constexpr int kReceiveBytesMax = 64 << 20;

}  // namespace

void ClientFlags::Declare(flags::Flags* flags, const std::string& json_help) {
  flags->Environment(true)
      .Address("coordinator", &coordinator, "where the coordinator listens")
      .Environment(false)
      .Switch("json", &json, json_help);
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the coordinator is not behind a proxy
  arguments.SetMaxReceiveMessageSize(kReceiveBytesMax);
  arguments.SetMaxSendMessageSize(kReceiveBytesMax);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // With pings, a command that only receives detects a vanished machine.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

Client::Client(const std::string& coordinator)
    : address_(CoordinatorAddress(coordinator)),
      stub_(admin::Admin::NewStub(ChannelTo(address_))) {}

void Client::Prepare(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kDeadlineSeconds));
}

base::Status ExplainCall(const std::string& address, const grpc::Status& status) {
  const base::Code code = wire::FromGrpc(status).code();
  const std::string said = base::Shown(status.error_message(), 2000);
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      // A connection error of gRPC's own needs a hint; a text from a coordinator does not.
      return base::Status(code,
                          "coordinator " + base::Shown(address) + ": " + said +
                              (said.find("connect") == std::string::npos
                                   ? ""
                                   : "; is it running there? Set its address with --coordinator "
                                     "or ASSAY_COORDINATOR"));
    case grpc::StatusCode::CANCELLED:
      return base::Status(code, "coordinator " + base::Shown(address) + " stopped during the call");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return base::Status(code, "coordinator " + base::Shown(address) + " did not answer within " +
                                    std::to_string(kDeadlineSeconds) + " s");
    case grpc::StatusCode::UNIMPLEMENTED:
      return base::Status(code,
                          base::Shown(address) + " answers, but is not a coordinator of Assay");
    default:
      return base::Status(code, said);
  }
}

}  // namespace assay::cli
