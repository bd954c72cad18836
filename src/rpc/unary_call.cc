#include "rpc/unary_call.h"

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "wire/grpc_status.h"

namespace assay::rpc {

Reply ReplyWith(const google::protobuf::MessageLite& message) {
  Reply reply;
  reply.body = Serialise(message);
  return reply;
}

Reply ReplyWith(const base::Status& status) {
  Reply reply;
  reply.status = wire::ToGrpc(status);
  return reply;
}

core::Caller CallerOf(const grpc::CallbackServerContext& context, std::string role) {
  core::Caller caller;
  caller.who = context.peer();
  caller.role = std::move(role);
  return caller;
}

grpc::ServerUnaryReactor* Refuse(CallContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// --- UnaryCall ---

base::Status UnaryCall::Enter(control::Intake* intake, const grpc::ByteBuffer& request,
                              bool outcomes, std::size_t* held) {
  if (!outcomes) {
    if (base::Status status = intake->AdmitCommand(); !status.ok()) return status;
  }
  *held = request.Length() > kLargeBytes ? request.Length() : 0;
  if (*held != 0) {
    if (base::Status status = intake->HoldBytes(*held, outcomes); !status.ok()) return status;
  }
  base::Status admitted = intake->Admit(control::Intake::Guest::kCall);
  if (!admitted.ok()) intake->FreeBytes(*held);
  return admitted;
}

void UnaryCall::Finish(Reply&& reply) {
  response_->Swap(&reply.body);
  ServerUnaryReactor::Finish(std::move(reply.status));
}

void UnaryCall::OnDone() {
  control::Intake* const intake = intake_;
  if (held_ != 0) intake->FreeBytes(held_);
  delete this;
  intake->Left(control::Intake::Guest::kCall);
}

// --- Command ---

grpc::ServerUnaryReactor* Command::Serve(control::Intake* intake, control::TaskThread* parser,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Handling handling) {
  std::size_t held = 0;
  if (base::Status status = Enter(intake, *request, handling.outcomes, &held); !status.ok()) {
    return Refuse(context, wire::ToGrpc(status));
  }
  auto* call = new Command(intake, *context, *request, response, held, std::move(handling));
  if (held != 0 || call->handling_.where == Where::kParser) {
    parser->Post([call] { call->TranslateAndPost(); });
  } else {
    call->TranslateAndPost();
  }
  return call;
}

void Command::TranslateAndPost() {
  Translated translated = handling_.translate(this);
  if (auto* reply = std::get_if<Reply>(&translated)) return Finish(std::move(*reply));
  intake_->PostCall(id_, this, std::move(std::get<core::Event>(translated)));
}

void Command::Answered(core::Answer&& answer) { handling_.respond(this, std::move(answer)); }

void Command::Failed(const base::Status& status) { Finish(ReplyWith(status)); }

// --- Query ---

grpc::ServerUnaryReactor* Query::Serve(control::Intake* intake, control::TaskThread* worker,
                                       CallContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response, Run run) {
  if (request->Length() > kRequestMax) {
    return Refuse(context, wire::ToGrpc(base::InvalidError(
                               "the request has " + std::to_string(request->Length()) +
                               " bytes; a query may have at most " + std::to_string(kRequestMax))));
  }
  if (worker->Depth() >= kWaitingMax) {
    return Refuse(context,
                  wire::ToGrpc(base::ExhaustedError("too many queries are waiting (limit " +
                                                    std::to_string(kWaitingMax) + "); try again")));
  }
  if (base::Status status = intake->Admit(control::Intake::Guest::kCall); !status.ok()) {
    return Refuse(context, wire::ToGrpc(status));
  }
  auto* call = new Query(intake, *context, *request, response, 0);
  worker->Post([call, run = std::move(run)] { call->Finish(run(call->request())); });
  return call;
}

}  // namespace assay::rpc
