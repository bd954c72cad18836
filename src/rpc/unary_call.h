// Unary calls. A Command turns the request into an event for the control loop, a Query into a task
// for a worker; the answer becomes the response's bytes. No thread waits: the reactor is finished
// when the answer arrives.
//
//   Command::Handling handling;
//   handling.translate = ...;
//   handling.respond = ...;
//   return Command::Serve(gate, Call::kAdminDeleteJob, parser, context, request, response,
//                         std::move(handling));
//
// Serve passes the gate first and refuses the call if the gate does.
//
// `translate` runs on gRPC's thread (small requests) or on the parser's (large requests, or all
// with Where::kParser). It returns an event, or a reply if it refuses the request. `respond` runs
// on the control loop's thread when the event's effects are released. Neither may block or throw.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "control/intake.h"
#include "control/task_thread.h"
#include "core/event.h"
#include "rpc/bytes.h"
#include "rpc/gate.h"

namespace assay::rpc {

// The end of a call. The body is sent only with an OK status.
struct Reply {
  grpc::Status status;
  grpc::ByteBuffer body;
};
Reply ReplyWith(const google::protobuf::MessageLite& message);
Reply ReplyWith(const base::Status& status);

// A reactor that sends one Reply. Finish is called once, from any thread; the object deletes
// itself.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  void Finish(Reply&& reply);
  const grpc::ByteBuffer& request() const { return request_; }
  const core::Caller& caller() const { return pass_.caller; }

 protected:
  // The pass of the call; its admission is released after the object's deletion.
  UnaryCall(control::Intake* intake, Pass&& pass, const grpc::ByteBuffer& request,
            grpc::ByteBuffer* response)
      : intake_(intake), pass_(std::move(pass)), request_(request), response_(response) {}
  ~UnaryCall() override = default;

  bool large() const { return pass_.large; }

  control::Intake* const intake_;

 private:
  void OnDone() override;

  Pass pass_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer* const response_;  // owned by gRPC; lives as long as the reactor
};

using CallContext = grpc::CallbackServerContext;

// A call that the control loop answers.
class Command final : public UnaryCall, public control::PendingCall {
 public:
  using Translated = std::variant<core::Event, Reply>;
  using Translate = std::function<Translated(Command* call)>;
  // Finishes the call, at once or later on another thread.
  using Respond = std::function<void(Command* call, core::Answer&& answer)>;
  enum class Where : std::uint8_t {
    kBySize,  // large requests on the parser's thread, others on gRPC's
    kParser,  // all requests on the parser's thread
  };
  struct Handling {
    Translate translate;
    Respond respond;
    Where where = Where::kBySize;
  };

  static grpc::ServerUnaryReactor* Serve(const Gate* gate, Call call, control::TaskThread* parser,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Handling handling);

  // For the event's `call`.
  core::CallId id() const { return id_; }

 private:
  Command(control::Intake* intake, Pass&& pass, const grpc::ByteBuffer& request,
          grpc::ByteBuffer* response, Handling handling)
      : UnaryCall(intake, std::move(pass), request, response),
        id_(intake->NextId()),
        handling_(std::move(handling)) {}
  ~Command() override = default;

  void TranslateAndPost();
  void Answered(core::Answer&& answer) override;
  void Failed(const base::Status& status) override;

  const core::CallId id_;
  Handling handling_;
};

// A call that a worker answers: a read of the database.
class Query final : public UnaryCall {
 public:
  using Run = std::function<Reply(const grpc::ByteBuffer& request)>;
  // worker: the gate's reader.
  static grpc::ServerUnaryReactor* Serve(const Gate* gate, Call call, control::TaskThread* worker,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Run run);

 private:
  using UnaryCall::UnaryCall;
  ~Query() override = default;
};

}  // namespace assay::rpc
