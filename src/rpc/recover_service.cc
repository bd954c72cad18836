#include "rpc/recover_service.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "recover.grpc.pb.h"
#include "rpc/refuse.h"
#include "rpc/server_stream.h"
#include "rpc/unary_call.h"
#include "wire/clusterd_code.h"
#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

using grpc::ByteBuffer;
using UnaryReactor = grpc::ServerUnaryReactor;
using StreamReactor = grpc::ServerWriteReactor<ByteBuffer>;

constexpr int kNodesMax = 65'536;
// Only two ops exist, so a third one is unknown or a repetition and enough for the core to refuse
// the request.
constexpr int kOpsKept = 3;
// Bytes of one result's text; the core stores fewer.
constexpr std::size_t kReplyTextMax = 4096;

Reply WireStatus(core::Verdict verdict, const std::string& text) {
  ::Status status;
  status.set_code(wire::RecoverCode(verdict));
  status.set_info(base::Shown(text, wire::kStatusTextMax));
  return ReplyWith(status);
}

void RespondWireStatus(Command* call, core::Answer&& answer) {
  call->Finish(WireStatus(answer.verdict, answer.text));
}

template <class Ops>
std::vector<std::int64_t> FirstOps(const Ops& ops) {
  return {ops.begin(), ops.begin() + std::min(ops.size(), kOpsKept)};
}

// The first `max` bytes or fewer. Cuts between characters: protobuf guarantees valid UTF-8, and it
// stays valid.
std::string Cut(const std::string& text, std::size_t max) {
  if (text.size() <= max) return text;
  std::size_t end = max;
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

Command::Translated TranslateStressTest(Command* call) {
  StressTestParam param;
  if (base::Status status = ParseBytes(call->request(), &param); !status.ok())
    return ReplyWith(status);
  if (const auto problem = base::IdProblem("job", param.jobid())) {
    return WireStatus(core::Verdict::kBadParameter, *problem);
  }
  if (param.stressparam_size() > kNodesMax) {
    return WireStatus(core::Verdict::kBadParameter,
                      "stressParam names " + std::to_string(param.stressparam_size()) +
                          " nodes; at most " + std::to_string(kNodesMax));
  }
  core::StressRequested event;
  event.call = call->id();
  event.caller = call->caller();
  event.job = param.jobid();
  event.all_ops = FirstOps(param.allnodesops());
  if (event.all_ops.empty()) {
    for (const auto& [node, list] : param.stressparam()) {
      event.node_ops.emplace(node, FirstOps(list.ops()));
    }
  }
  return core::Event(std::move(event));
}

Command::Translated TranslateReply(Command* call) {
  StressTestResult result;
  if (base::Status status = ParseBytes(call->request(), &result); !status.ok())
    return ReplyWith(status);
  if (const auto problem = base::IdProblem("job", result.jobid())) {
    return WireStatus(core::Verdict::kBadParameter, *problem);
  }
  core::Replied event;
  event.call = call->id();
  event.caller = call->caller();
  event.job = result.jobid();
  for (const auto& [rank, ops] : result.stressresult()) {
    for (const auto& [op, outcome] : ops.rankresult()) {
      event.items.push_back({rank, op, outcome.code(), Cut(outcome.result(), kReplyTextMax)});
    }
  }
  return core::Event(std::move(event));
}

using RecoverBase = Recover::WithRawCallbackMethod_Init<Recover::WithRawCallbackMethod_Register<
    Recover::WithRawCallbackMethod_SubscribeProcessManageSignal<
        Recover::WithRawCallbackMethod_ReportStopComplete<
            Recover::WithRawCallbackMethod_ReportRecoverStrategy<
                Recover::WithRawCallbackMethod_ReportRecoverStatus<
                    Recover::WithRawCallbackMethod_ReportProcessFault<
                        Recover::WithRawCallbackMethod_HealthCheck<
                            Recover::WithRawCallbackMethod_StressTest<
                                Recover::WithRawCallbackMethod_SubscribeStressTestResponse<
                                    Recover::WithRawCallbackMethod_SubscribeNotifyExecStressTest<
                                        Recover::WithRawCallbackMethod_ReplyStressTestResult<
                                            Recover::Service>>>>>>>>>>>>;

class RecoverService final : public RecoverBase {
 public:
  RecoverService(const Gate* gate, control::TaskThread* parser) : gate_(gate), parser_(parser) {}

  UnaryReactor* StressTest(CallContext* context, const ByteBuffer* request,
                           ByteBuffer* response) override {
    Command::Handling handling;
    handling.translate = TranslateStressTest;
    handling.respond = RespondWireStatus;
    return Command::Serve(gate_, Call::kRecoverStressTest, parser_, context, request, response,
                          std::move(handling));
  }

  UnaryReactor* ReplyStressTestResult(CallContext* context, const ByteBuffer* request,
                                      ByteBuffer* response) override {
    Command::Handling handling;
    handling.translate = TranslateReply;
    handling.respond = RespondWireStatus;
    return Command::Serve(gate_, Call::kRecoverReplyStressTestResult, parser_, context, request,
                          response, std::move(handling));
  }

  StreamReactor* SubscribeNotifyExecStressTest(CallContext* context,
                                               const ByteBuffer* request) override {
    return Subscribe<ClientInfo>(Call::kRecoverSubscribeNotifyExecStressTest, context, *request,
                                 core::Topic::kNotify);
  }
  StreamReactor* SubscribeStressTestResponse(CallContext* context,
                                             const ByteBuffer* request) override {
    return Subscribe<StressTestRequest>(Call::kRecoverSubscribeStressTestResponse, context,
                                        *request, core::Topic::kResult);
  }

  // --- Not implemented yet: the gate refuses them ---

  UnaryReactor* Init(CallContext* context, const ByteBuffer* request, ByteBuffer*) override {
    return Unimplemented(Call::kRecoverInit, context, *request);
  }
  UnaryReactor* Register(CallContext* context, const ByteBuffer* request, ByteBuffer*) override {
    return Unimplemented(Call::kRecoverRegister, context, *request);
  }
  StreamReactor* SubscribeProcessManageSignal(CallContext* context,
                                              const ByteBuffer* request) override {
    return RefuseStream(Refusal(Call::kRecoverSubscribeProcessManageSignal, context, *request));
  }
  UnaryReactor* ReportStopComplete(CallContext* context, const ByteBuffer* request,
                                   ByteBuffer*) override {
    return Unimplemented(Call::kRecoverReportStopComplete, context, *request);
  }
  UnaryReactor* ReportRecoverStrategy(CallContext* context, const ByteBuffer* request,
                                      ByteBuffer*) override {
    return Unimplemented(Call::kRecoverReportRecoverStrategy, context, *request);
  }
  UnaryReactor* ReportRecoverStatus(CallContext* context, const ByteBuffer* request,
                                    ByteBuffer*) override {
    return Unimplemented(Call::kRecoverReportRecoverStatus, context, *request);
  }
  UnaryReactor* ReportProcessFault(CallContext* context, const ByteBuffer* request,
                                   ByteBuffer*) override {
    return Unimplemented(Call::kRecoverReportProcessFault, context, *request);
  }
  UnaryReactor* HealthCheck(CallContext* context, const ByteBuffer* request, ByteBuffer*) override {
    return Unimplemented(Call::kRecoverHealthCheck, context, *request);
  }

 private:
  // REQUIRES: the table's row of the call says that it is not implemented.
  base::Status Refusal(Call call, CallContext* context, const ByteBuffer& request) const {
    const base::Result<Pass> pass = gate_->Enter(call, context->peer(), request.Length());
    assert(!pass.ok());
    return pass.status();
  }
  UnaryReactor* Unimplemented(Call call, CallContext* context, const ByteBuffer& request) const {
    return RefuseCall(Refusal(call, context, request));
  }

  static std::string RoleOf(const ClientInfo& info) { return info.role(); }
  static std::string RoleOf(const StressTestRequest&) { return ""; }
  static std::string JobOf(const ClientInfo& info) { return info.jobid(); }
  static std::string JobOf(const StressTestRequest& request) { return request.jobid(); }

  template <class Request>
  StreamReactor* Subscribe(Call call, CallContext* context, const ByteBuffer& bytes,
                           core::Topic topic) {
    base::Result<Pass> pass = gate_->Enter(call, context->peer(), bytes.Length());
    if (!pass.ok()) return RefuseStream(pass.status());
    Request request;
    if (base::Status status = ParseBytes(bytes, &request); !status.ok()) {
      return RefuseStream(status);
    }
    if (const auto problem = base::IdProblem("job", JobOf(request))) {
      return RefuseStream(base::InvalidError(*problem));
    }
    pass->caller.role = base::Shown(RoleOf(request));
    core::StreamOpened opened;
    opened.topic = topic;
    opened.job = JobOf(request);
    return ServerStream::Open(gate_->intake(), std::move(*pass), context,
                              ServerStream::kForStressTests, std::move(opened));
  }

  const Gate* const gate_;
  control::TaskThread* const parser_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRecoverService(const Gate* gate, control::TaskThread* parser) {
  return std::make_unique<RecoverService>(gate, parser);
}

}  // namespace assay::rpc
