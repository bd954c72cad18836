#include "rpc/job_service.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/uuid.h"
#include "job.grpc.pb.h"
#include "rpc/refuse.h"
#include "rpc/server_stream.h"
#include "rpc/unary_call.h"
#include "wire/clusterd_code.h"
#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

using grpc::ByteBuffer;
using StreamReactor = grpc::ServerWriteReactor<ByteBuffer>;

using JobBase = job::Job::WithRawCallbackMethod_Register<
    job::Job::WithRawCallbackMethod_SubscribeJobSummarySignal<
        job::Job::WithRawCallbackMethod_SubscribeJobSummarySignalList<job::Job::Service>>>;

class JobService final : public JobBase {
 public:
  JobService(const Gate* gate, control::TaskThread* parser, control::RoomListener* board,
             std::size_t subscriber_buffer)
      : gate_(gate), parser_(parser), limits_{board, subscriber_buffer, kWaitingMax} {}

  grpc::ServerUnaryReactor* Register(CallContext* context, const ByteBuffer* request,
                                     ByteBuffer* response) override {
    const std::string client = base::RandomUuid();
    Command::Handling handling;
    handling.translate = [client](Command* call) -> Command::Translated {
      job::ClientInfo info;
      if (base::Status status = ParseBytes(call->request(), &info); !status.ok()) {
        return ReplyWith(status);
      }
      core::ClientRegistered event;
      event.call = call->id();
      event.caller = call->caller();
      event.caller.role = base::Shown(info.role());
      event.role = info.role();
      event.client = client;
      return core::Event(std::move(event));
    };
    handling.respond = [client](Command* call, core::Answer&& answer) {
      if (answer.verdict == core::Verdict::kDenied) {
        return call->Finish(ReplyWith(wire::StatusOf(answer.verdict, answer.text)));
      }
      job::Status status;
      status.set_code(wire::JobCode(answer.verdict));
      status.set_info(base::Shown(answer.text, wire::kStatusTextMax));
      if (answer.verdict == core::Verdict::kAccepted) status.set_clientid(client);
      call->Finish(ReplyWith(status));
    };
    return Command::Serve(gate_, Call::kJobRegister, parser_, context, request, response,
                          std::move(handling));
  }

  StreamReactor* SubscribeJobSummarySignal(CallContext* context,
                                           const ByteBuffer* request) override {
    return Subscribe(Call::kJobSubscribeJobSummarySignal, context, *request, core::Topic::kSignal);
  }
  StreamReactor* SubscribeJobSummarySignalList(CallContext* context,
                                               const ByteBuffer* request) override {
    return Subscribe(Call::kJobSubscribeJobSummarySignalList, context, *request,
                     core::Topic::kSignalList);
  }

 private:
  // Messages that may be unwritten per subscriber: enough for a burst. Further changes are
  // conflated.
  static constexpr std::uint32_t kWaitingMax = 64;

  StreamReactor* Subscribe(Call call, CallContext* context, const ByteBuffer& bytes,
                           core::Topic topic) {
    base::Result<Pass> pass = gate_->Enter(call, context->peer(), bytes.Length());
    if (!pass.ok()) return RefuseStream(pass.status());
    job::ClientInfo info;
    if (base::Status status = ParseBytes(bytes, &info); !status.ok()) return RefuseStream(status);
    pass->caller.role = base::Shown(info.role());
    core::StreamOpened opened;
    opened.topic = topic;
    opened.client = info.clientid();
    opened.role = info.role();
    return ServerStream::Open(gate_->intake(), std::move(*pass), context, limits_,
                              std::move(opened));
  }

  const Gate* const gate_;
  control::TaskThread* const parser_;
  const ServerStream::Limits limits_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJobService(const Gate* gate, control::TaskThread* parser,
                                              control::RoomListener* board,
                                              std::size_t subscriber_buffer) {
  return std::make_unique<JobService>(gate, parser, board, subscriber_buffer);
}

}  // namespace assay::rpc
