#include "cli/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "cli/interrupt.h"
#include "wire/grpc_status.h"

namespace assay::cli {
namespace {

// Larger than a job of 65,536 ranks or a page of results.
constexpr int kReceiveBytesMax = 64 << 20;
// How long one attempt to connect again may take. The kernel sends its second packet after one
// second, so a machine that is back gets a packet in every second.
constexpr int kConnectAgainMs = 2000;
// How often a call checks whether a signal has arrived.
constexpr std::chrono::milliseconds kLook{50};
// How long a call continues after a signal: most coordinators answer meanwhile, and then the
// command can tell what was done.
constexpr std::chrono::milliseconds kAnswerWait{500};

}  // namespace

void ClientFlags::Declare(flags::Flags* flags, const std::string& json_help) {
  flags->Environment(true)
      .Address("coordinator", &coordinator, "where the coordinator listens")
      .Environment(false)
      .Switch("json", &json, json_help);
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address, bool again) {
  grpc::ChannelArguments arguments;
  // Without its own pool the channel shares the connection, and its back-off, of an earlier one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (again) arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectAgainMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the coordinator is not behind a proxy
  arguments.SetMaxReceiveMessageSize(kReceiveBytesMax);
  arguments.SetMaxSendMessageSize(kReceiveBytesMax);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // With pings, a command that only receives detects a vanished machine.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

Client::Client(const std::string& coordinator) : address_(CoordinatorAddress(coordinator)) {}

Client::~Client() { queue_.Shutdown(); }

void Client::Prepare(grpc::ClientContext* context) {
  if (!stub_) stub_ = admin::Admin::NewStub(ChannelTo(address_, again_));
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kDeadlineSeconds));
}

bool Client::Await(grpc::ClientContext* context) {
  const LastWords words("coordinator " + base::Shown(address_) +
                        " has not answered; a change that was requested may still take effect");
  using Clock = std::chrono::steady_clock;
  Clock::time_point cancel_at = Clock::time_point::max();
  bool cancelled = false;
  void* tag = nullptr;
  bool ok = false;
  while (queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kLook) ==
         grpc::CompletionQueue::TIMEOUT) {
    if (cancelled || !Interrupted()) continue;
    cancel_at = std::min(cancel_at, Clock::now() + kAnswerWait);
    if (Clock::now() < cancel_at) continue;
    context->TryCancel();
    cancelled = true;
  }
  return cancelled;
}

base::Status Client::Failed(const grpc::Status& status, bool cancelled) {
  if (cancelled && status.error_code() == grpc::StatusCode::CANCELLED) {
    return base::UnavailableError("interrupted; coordinator " + base::Shown(address_) +
                                  " has not answered");
  }
  base::Status explained = ExplainCall(address_, status);
  if (explained.code() == base::Code::kUnavailable) {
    stub_.reset();
    again_ = true;
  }
  return explained;
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
