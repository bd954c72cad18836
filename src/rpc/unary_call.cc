#include "rpc/unary_call.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "rpc/refuse.h"
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

// --- UnaryCall ---

void UnaryCall::Finish(Reply&& reply) {
  response_->Swap(&reply.body);
  ServerUnaryReactor::Finish(std::move(reply.status));
}

void UnaryCall::OnDone() {
  const control::Admission admission = std::move(pass_.admission);  // released last
  delete this;
}

// --- Command ---

grpc::ServerUnaryReactor* Command::Serve(const Gate* gate, Call call, control::TaskThread* parser,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Handling handling) {
  base::Result<Pass> pass = gate->Enter(call, context->peer(), request->Length());
  if (!pass.ok()) return RefuseCall(pass.status());
  auto* command =
      new Command(gate->intake(), std::move(*pass), *request, response, std::move(handling));
  if (command->large() || command->handling_.where == Where::kParser) {
    parser->Post([command] { command->TranslateAndPost(); });
  } else {
    command->TranslateAndPost();
  }
  return command;
}

void Command::TranslateAndPost() {
  Translated translated = handling_.translate(this);
  if (auto* reply = std::get_if<Reply>(&translated)) return Finish(std::move(*reply));
  intake_->PostCall(id_, this, std::move(std::get<core::Event>(translated)));
}

void Command::Answered(core::Answer&& answer) { handling_.respond(this, std::move(answer)); }

void Command::Failed(const base::Status& status) { Finish(ReplyWith(status)); }

// --- Query ---

grpc::ServerUnaryReactor* Query::Serve(const Gate* gate, Call call, control::TaskThread* worker,
                                       CallContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response, Run run) {
  base::Result<Pass> pass = gate->Enter(call, context->peer(), request->Length());
  if (!pass.ok()) return RefuseCall(pass.status());
  auto* query = new Query(gate->intake(), std::move(*pass), *request, response);
  worker->Post([query, run = std::move(run)] { query->Finish(run(query->request())); });
  return query;
}

}  // namespace assay::rpc
