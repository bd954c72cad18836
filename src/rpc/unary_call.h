// Unary calls: the request's bytes become an event for the control loop, or a task for a worker;
// the answer becomes the response's bytes. The reactor is the only thing that waits.
//
//   return Command::Serve(intake, parser, context, request, response, translate, answer);
//
// `translate` runs on gRPC's thread (small requests) or the parser's (large ones, or always); it
// gives an event, or a reply when the request is refused before it becomes one. `answer` runs on
// the control loop's thread when the event's effects are released. Neither blocks or throws.
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

namespace assay {

// What a call ends with. The body is sent only with an OK status.
struct Reply {
  grpc::Status status;
  grpc::ByteBuffer body;
};
Reply ReplyWith(const google::protobuf::MessageLite& message);
Reply ReplyWith(const Status& status);

// "ipv4:127.0.0.1:5000" and what the caller says of itself.
Caller CallerOf(const grpc::CallbackServerContext& context, std::string role);

// A request of so many bytes is not for gRPC's few threads, and counts against the room for large
// ones.
inline constexpr std::size_t kLargeBytes = 64 * 1024;

// A reactor that sends one Reply. Finished by anybody, once; deletes itself.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  void Finish(Reply&& reply);
  const grpc::ByteBuffer& request() const { return request_; }
  const Caller& caller() const { return caller_; }

 protected:
  // Room for one more. OK: it counts from now on, and `held` bytes with it, until its object ends.
  // outcomes: it carries outcomes, which are never refused for lack of room.
  static Status Enter(Intake* intake, const grpc::ByteBuffer& request, bool outcomes,
                      std::size_t* held);

  // held: bytes to give back at the end.
  UnaryCall(Intake* intake, const grpc::CallbackServerContext& context,
            const grpc::ByteBuffer& request, grpc::ByteBuffer* response, std::size_t held)
      : intake_(intake),
        request_(request),
        caller_(CallerOf(context, "")),
        response_(response),
        held_(held) {}
  ~UnaryCall() override = default;

  Intake* const intake_;

 private:
  void OnDone() override;

  grpc::ByteBuffer request_;
  const Caller caller_;
  grpc::ByteBuffer* const response_;  // gRPC's; lives as long as the reactor
  const std::size_t held_;
};

using CallContext = grpc::CallbackServerContext;

// For the control loop.
class Command final : public UnaryCall, public PendingCall {
 public:
  using Translated = std::variant<Event, Reply>;
  using Translate = std::function<Translated(Command* call)>;
  // Finishes the call, at once or later on another thread.
  using Respond = std::function<void(Command* call, Answer&& answer)>;
  enum class Where : std::uint8_t {
    kBySize,  // large requests on the parser's thread
    kParser,  // always there
  };
  struct Handling {
    Translate translate;
    Respond respond;
    Where where = Where::kBySize;
    // It carries outcomes: never refused for lack of room.
    bool outcomes = false;
  };

  static grpc::ServerUnaryReactor* Serve(Intake* intake, Worker* parser, CallContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Handling handling);

  // Of the event's `call`.
  CallId id() const { return id_; }

 private:
  Command(Intake* intake, const CallContext& context, const grpc::ByteBuffer& request,
          grpc::ByteBuffer* response, std::size_t held, Handling handling)
      : UnaryCall(intake, context, request, response, held),
        id_(intake->NextId()),
        handling_(std::move(handling)) {}
  ~Command() override = default;

  void TranslateAndPost();
  void Answered(Answer&& answer) override;
  void Failed(const Status& status) override;

  const CallId id_;
  Handling handling_;
};

// For a worker: reads of the store.
class Query final : public UnaryCall {
 public:
  using Run = std::function<Reply(const grpc::ByteBuffer& request)>;
  static grpc::ServerUnaryReactor* Serve(Intake* intake, Worker* worker, CallContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, Run run);

 private:
  // Each may be megabytes to be read from disk.
  static constexpr std::size_t kWaitingMax = 1000;
  static constexpr std::size_t kRequestMax = 64 * 1024;

  using UnaryCall::UnaryCall;
  ~Query() override = default;
};

// Ends a call at once.
grpc::ServerUnaryReactor* Refuse(CallContext* context, const grpc::Status& status);

}  // namespace assay
