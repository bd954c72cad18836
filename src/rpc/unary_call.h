// Unary calls. A Command turns the request into an event for the control loop, a Query into a task
// for a worker; the answer becomes the response's bytes. No thread waits: the reactor is finished
// when the answer arrives.
//
//   Command::Handling handling;
//   handling.translate = ...;
//   handling.respond = ...;
//   return Command::Serve(intake, parser, context, request, response, std::move(handling));
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

namespace assay::rpc {

// The end of a call. The body is sent only with an OK status.
struct Reply {
  grpc::Status status;
  grpc::ByteBuffer body;
};
Reply ReplyWith(const google::protobuf::MessageLite& message);
Reply ReplyWith(const base::Status& status);

// The peer's address as gRPC writes it ("ipv4:127.0.0.1:5000"), and the role that the caller
// claims.
core::Caller CallerOf(const grpc::CallbackServerContext& context, std::string role);

// Requests above this are parsed on a worker, not on gRPC's few threads, and count against the
// limits on large requests (IntakeLimits).
inline constexpr std::size_t kLargeBytes = 64 * 1024;

// A reactor that sends one Reply. Finish is called once, from any thread; the object deletes
// itself.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  void Finish(Reply&& reply);
  const grpc::ByteBuffer& request() const { return request_; }
  const core::Caller& caller() const { return caller_; }

 protected:
  // Admits a call. On OK the call and its `*held` bytes are counted until its object is deleted.
  // outcomes: the request carries outcomes and is not refused because many items wait.
  static base::Status Enter(control::Intake* intake, const grpc::ByteBuffer& request, bool outcomes,
                            std::size_t* held);

  // held: as Enter returned it; released at the end.
  UnaryCall(control::Intake* intake, const grpc::CallbackServerContext& context,
            const grpc::ByteBuffer& request, grpc::ByteBuffer* response, std::size_t held)
      : intake_(intake),
        request_(request),
        caller_(CallerOf(context, "")),
        response_(response),
        held_(held) {}
  ~UnaryCall() override = default;

  control::Intake* const intake_;

 private:
  void OnDone() override;

  grpc::ByteBuffer request_;
  const core::Caller caller_;
  grpc::ByteBuffer* const response_;  // owned by gRPC; lives as long as the reactor
  const std::size_t held_;
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
    bool outcomes = false;  // as in Enter
  };

  static grpc::ServerUnaryReactor* Serve(control::Intake* intake, control::TaskThread* parser,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Handling handling);

  // For the event's `call`.
  core::CallId id() const { return id_; }

 private:
  Command(control::Intake* intake, const CallContext& context, const grpc::ByteBuffer& request,
          grpc::ByteBuffer* response, std::size_t held, Handling handling)
      : UnaryCall(intake, context, request, response, held),
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
  static grpc::ServerUnaryReactor* Serve(control::Intake* intake, control::TaskThread* worker,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Run run);

 private:
  // Tasks waiting for the worker. Low, because each may read megabytes from disk.
  static constexpr std::size_t kWaitingMax = 1000;
  static constexpr std::size_t kRequestMax = 64 * 1024;

  using UnaryCall::UnaryCall;
  ~Query() override = default;
};

// Ends a call immediately.
grpc::ServerUnaryReactor* Refuse(CallContext* context, const grpc::Status& status);

}  // namespace assay::rpc
