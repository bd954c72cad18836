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

namespace assay {
namespace {

using grpc::ByteBuffer;
using StreamReactor = grpc::ServerWriteReactor<ByteBuffer>;

// A request is a role and an id.
constexpr std::size_t kRequestBytesMax = 64 * 1024;

Status ParseClient(const ByteBuffer& bytes, job::ClientInfo* info) {
  if (bytes.Length() > kRequestBytesMax) {
    return InvalidError("the request has " + std::to_string(bytes.Length()) +
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
  JobService(Intake* intake, Worker* parser, RoomListener* board, std::size_t subscriber_buffer)
      : intake_(intake), parser_(parser), limits_{board, subscriber_buffer, kWaitingMax} {}

  grpc::ServerUnaryReactor* Register(CallContext* context, const ByteBuffer* request,
                                     ByteBuffer* response) override {
    const std::string client = RandomUuid();
    Command::Handling handling;
    handling.translate = [client](Command* call) -> Command::Translated {
      job::ClientInfo info;
      if (Status status = ParseClient(call->request(), &info); !status.ok()) {
        return ReplyWith(status);
      }
      ClientRegistered event;
      event.call = call->id();
      event.caller = call->caller();
      event.role = info.role();
      event.client = client;
      return Event(std::move(event));
    };
    handling.respond = [client](Command* call, Answer&& answer) {
      if (!answer.status.ok()) return call->Finish(ReplyWith(answer.status));
      job::Status status;
      status.set_code(answer.code);
      status.set_info(Shown(answer.text, kStatusTextMax));
      if (answer.code == kRegistered) status.set_clientid(client);
      call->Finish(ReplyWith(status));
    };
    return Command::Serve(intake_, parser_, context, request, response, std::move(handling));
  }

  StreamReactor* SubscribeJobSummarySignal(CallContext* context,
                                           const ByteBuffer* request) override {
    return Subscribe(context, *request, Topic::kSignal);
  }
  StreamReactor* SubscribeJobSummarySignalList(CallContext* context,
                                               const ByteBuffer* request) override {
    return Subscribe(context, *request, Topic::kSignalList);
  }

 private:
  static constexpr int kRegistered = 200;
  // Messages that may be unwritten per subscriber: enough for a burst. Further changes are
  // conflated.
  static constexpr std::uint32_t kWaitingMax = 64;

  StreamReactor* Subscribe(CallContext* context, const ByteBuffer& bytes, Topic topic) {
    job::ClientInfo info;
    if (Status status = ParseClient(bytes, &info); !status.ok()) {
      return ServerStream::Refuse(ToGrpc(status));
    }
    if (Status status = intake_->Admit(Intake::Guest::kStream); !status.ok()) {
      return ServerStream::Refuse(ToGrpc(status));
    }
    StreamOpened opened;
    opened.topic = topic;
    opened.caller = CallerOf(*context, Shown(info.role()));
    opened.client = info.clientid();
    opened.role = info.role();
    return ServerStream::Open(intake_, context, limits_, std::move(opened));
  }

  Intake* const intake_;
  Worker* const parser_;
  const ServerStream::Limits limits_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJobService(Intake* intake, Worker* parser, RoomListener* board,
                                              std::size_t subscriber_buffer) {
  return std::make_unique<JobService>(intake, parser, board, subscriber_buffer);
}

}  // namespace assay
