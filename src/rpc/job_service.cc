#include "rpc/job_service.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/uuid.h"
#include "job.grpc.pb.h"
#include "rpc/server_stream.h"
#include "rpc/unary_call.h"
#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

using grpc::ByteBuffer;
using StreamReactor = grpc::ServerWriteReactor<ByteBuffer>;

// A request is a role and an id.
constexpr std::size_t kRequestBytesMax = 64 * 1024;

base::Status ParseClient(const ByteBuffer& bytes, job::ClientInfo* info) {
  if (bytes.Length() > kRequestBytesMax) {
    return base::InvalidError("the request has " + std::to_string(bytes.Length()) +
                              " bytes; a role and an id may have at most " +
                              std::to_string(kRequestBytesMax));
  }
  return ParseBytes(bytes, info);
}

using JobBase = job::Job::WithRawCallbackMethod_Register<
    job::Job::WithRawCallbackMethod_SubscribeJobSummarySignal<
        job::Job::WithRawCallbackMethod_SubscribeJobSummarySignalList<job::Job::Service>>>;

class JobService final : public JobBase {
 public:
  JobService(control::Intake* intake, control::TaskThread* parser, control::RoomListener* board,
             std::size_t subscriber_buffer)
      : intake_(intake), parser_(parser), limits_{board, subscriber_buffer, kWaitingMax} {}

  grpc::ServerUnaryReactor* Register(CallContext* context, const ByteBuffer* request,
                                     ByteBuffer* response) override {
    const std::string client = base::RandomUuid();
    Command::Handling handling;
    handling.translate = [client](Command* call) -> Command::Translated {
      job::ClientInfo info;
      if (base::Status status = ParseClient(call->request(), &info); !status.ok()) {
        return ReplyWith(status);
      }
      core::ClientRegistered event;
      event.call = call->id();
      event.caller = call->caller();
      event.role = info.role();
      event.client = client;
      return core::Event(std::move(event));
    };
    handling.respond = [client](Command* call, core::Answer&& answer) {
      if (!answer.status.ok()) return call->Finish(ReplyWith(answer.status));
      job::Status status;
      status.set_code(answer.code);
      status.set_info(base::Shown(answer.text, wire::kStatusTextMax));
      if (answer.code == kRegistered) status.set_clientid(client);
      call->Finish(ReplyWith(status));
    };
    return Command::Serve(intake_, parser_, context, request, response, std::move(handling));
  }

  StreamReactor* SubscribeJobSummarySignal(CallContext* context,
                                           const ByteBuffer* request) override {
    return Subscribe(context, *request, core::Topic::kSignal);
  }
  StreamReactor* SubscribeJobSummarySignalList(CallContext* context,
                                               const ByteBuffer* request) override {
    return Subscribe(context, *request, core::Topic::kSignalList);
  }

 private:
  static constexpr int kRegistered = 200;
  // Messages that may be unwritten per subscriber: enough for a burst. Further changes are
  // conflated.
  static constexpr std::uint32_t kWaitingMax = 64;

  StreamReactor* Subscribe(CallContext* context, const ByteBuffer& bytes, core::Topic topic) {
    job::ClientInfo info;
    if (base::Status status = ParseClient(bytes, &info); !status.ok()) {
      return ServerStream::Refuse(wire::ToGrpc(status));
    }
    if (base::Status status = intake_->Admit(control::Intake::Guest::kStream); !status.ok()) {
      return ServerStream::Refuse(wire::ToGrpc(status));
    }
    core::StreamOpened opened;
    opened.topic = topic;
    opened.caller = CallerOf(*context, base::Shown(info.role()));
    opened.client = info.clientid();
    opened.role = info.role();
    return ServerStream::Open(intake_, context, limits_, std::move(opened));
  }

  control::Intake* const intake_;
  control::TaskThread* const parser_;
  const ServerStream::Limits limits_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJobService(control::Intake* intake, control::TaskThread* parser,
                                              control::RoomListener* board,
                                              std::size_t subscriber_buffer) {
  return std::make_unique<JobService>(intake, parser, board, subscriber_buffer);
}

}  // namespace assay::rpc
