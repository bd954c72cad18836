#include "rpc/recover_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "recover.grpc.pb.h"
#include "rpc/server_stream.h"
#include "rpc/unary_call.h"
#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

using grpc::ByteBuffer;
using UnaryReactor = grpc::ServerUnaryReactor;
using StreamReactor = grpc::ServerWriteReactor<ByteBuffer>;

// docs/wire.md 3: "OM parameter".
constexpr int kBadParameter = 413;
constexpr int kNodesMax = 65'536;
// Only two ops exist, so a third one is unknown or a repetition and enough for the core to refuse
// the request.
constexpr int kOpsKept = 3;
// Bytes of one result's text; the core stores fewer.
constexpr std::size_t kReplyTextMax = 4096;

Reply WireStatus(int code, const std::string& text) {
  ::Status status;
  status.set_code(code);
  status.set_info(base::Shown(text, wire::kStatusTextMax));
  return ReplyWith(status);
}

void RespondWireStatus(Command* call, core::Answer&& answer) {
  call->Finish(WireStatus(answer.code, answer.text));
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
    return WireStatus(kBadParameter, *problem);
  }
  if (param.stressparam_size() > kNodesMax) {
    return WireStatus(kBadParameter, "stressParam names " +
                                         std::to_string(param.stressparam_size()) +
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
    return WireStatus(kBadParameter, *problem);
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
  RecoverService(control::Intake* intake, control::TaskThread* parser)
      : intake_(intake), parser_(parser) {}

  UnaryReactor* StressTest(CallContext* context, const ByteBuffer* request,
                           ByteBuffer* response) override {
    Command::Handling handling;
    handling.translate = TranslateStressTest;
    handling.respond = RespondWireStatus;
    return Command::Serve(intake_, parser_, context, request, response, std::move(handling));
  }

  UnaryReactor* ReplyStressTestResult(CallContext* context, const ByteBuffer* request,
                                      ByteBuffer* response) override {
    Command::Handling handling;
    handling.translate = TranslateReply;
    handling.respond = RespondWireStatus;
    handling.outcomes = true;
    return Command::Serve(intake_, parser_, context, request, response, std::move(handling));
  }

  StreamReactor* SubscribeNotifyExecStressTest(CallContext* context,
                                               const ByteBuffer* request) override {
    return Subscribe<ClientInfo>(context, request, core::Topic::kNotify);
  }
  StreamReactor* SubscribeStressTestResponse(CallContext* context,
                                             const ByteBuffer* request) override {
    return Subscribe<StressTestRequest>(context, request, core::Topic::kResult);
  }

  // --- Not implemented yet ---

  UnaryReactor* Init(CallContext* context, const ByteBuffer*, ByteBuffer*) override {
    return NotBuilt(context);
  }
  UnaryReactor* Register(CallContext* context, const ByteBuffer*, ByteBuffer*) override {
    return NotBuilt(context);
  }
  StreamReactor* SubscribeProcessManageSignal(CallContext*, const ByteBuffer*) override {
    return ServerStream::Refuse(NotBuiltStatus());
  }
  UnaryReactor* ReportStopComplete(CallContext* context, const ByteBuffer*, ByteBuffer*) override {
    return NotBuilt(context);
  }
  UnaryReactor* ReportRecoverStrategy(CallContext* context, const ByteBuffer*,
                                      ByteBuffer*) override {
    return NotBuilt(context);
  }
  UnaryReactor* ReportRecoverStatus(CallContext* context, const ByteBuffer*, ByteBuffer*) override {
    return NotBuilt(context);
  }
  UnaryReactor* ReportProcessFault(CallContext* context, const ByteBuffer*, ByteBuffer*) override {
    return NotBuilt(context);
  }
  UnaryReactor* HealthCheck(CallContext* context, const ByteBuffer*, ByteBuffer*) override {
    return NotBuilt(context);
  }

 private:
  // A subscription is one or two short strings.
  static constexpr std::size_t kSubscribeBytesMax = 64 * 1024;

  static grpc::Status NotBuiltStatus() {
    return wire::ToGrpc(
        base::UnsupportedError("this version of Assay does not implement process recovery"));
  }
  static UnaryReactor* NotBuilt(CallContext* context) { return Refuse(context, NotBuiltStatus()); }

  static std::string RoleOf(const ClientInfo& info) { return info.role(); }
  static std::string RoleOf(const StressTestRequest&) { return ""; }
  static std::string JobOf(const ClientInfo& info) { return info.jobid(); }
  static std::string JobOf(const StressTestRequest& request) { return request.jobid(); }

  template <class Request>
  StreamReactor* Subscribe(CallContext* context, const ByteBuffer* bytes, core::Topic topic) {
    if (bytes->Length() > kSubscribeBytesMax) {
      return ServerStream::Refuse(wire::ToGrpc(base::InvalidError(
          "the request has " + std::to_string(bytes->Length()) +
          " bytes; a subscription may have at most " + std::to_string(kSubscribeBytesMax))));
    }
    Request request;
    if (base::Status status = ParseBytes(*bytes, &request); !status.ok()) {
      return ServerStream::Refuse(wire::ToGrpc(status));
    }
    if (const auto problem = base::IdProblem("job", JobOf(request))) {
      return ServerStream::Refuse(wire::ToGrpc(base::InvalidError(*problem)));
    }
    if (base::Status status = intake_->Admit(control::Intake::Guest::kStream); !status.ok()) {
      return ServerStream::Refuse(wire::ToGrpc(status));
    }
    core::StreamOpened opened;
    opened.topic = topic;
    opened.caller = CallerOf(*context, base::Shown(RoleOf(request)));
    opened.job = JobOf(request);
    return ServerStream::Open(intake_, context, ServerStream::kForStressTests, std::move(opened));
  }

  control::Intake* const intake_;
  control::TaskThread* const parser_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRecoverService(control::Intake* intake,
                                                  control::TaskThread* parser) {
  return std::make_unique<RecoverService>(intake, parser);
}

}  // namespace assay::rpc
