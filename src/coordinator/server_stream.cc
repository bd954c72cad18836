#include "coordinator/server_stream.h"

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "wire/grpc_status.h"

namespace assay {
namespace {

class Refused final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace

ServerStream* ServerStream::Open(Intake* intake, grpc::CallbackServerContext* context, Topic topic,
                                 Caller caller, std::string job) {
  auto* stream = new ServerStream(intake, context);
  StreamOpened opened;
  opened.stream = stream->id_;
  opened.topic = topic;
  opened.caller = std::move(caller);
  opened.job = std::move(job);
  intake->PostStreamOpened(stream->id_, stream, std::move(opened));
  // The loop may have ended it by now, but gRPC keeps it until the handler has returned it.
  return stream;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ServerStream::Refuse(const grpc::Status& status) {
  return new Refused(status);
}

void ServerStream::NameRun(RunId run) {
  context_->AddInitialMetadata("assay-run", std::to_string(run));
}

bool ServerStream::Send(const Bytes& bytes) {
  switch (outbox_.Push(Bytes(bytes))) {
    case PushResult::kStartPump:
      outbox_.Pump(this);
      return true;
    case PushResult::kQueued:
    case PushResult::kClosed:
      return true;
    case PushResult::kFull:
      break;
  }
  return false;
}

void ServerStream::End(const Status& status) {
  if (outbox_.PushFinal(ToGrpc(status)) == PushResult::kStartPump) outbox_.Pump(this);
}

void ServerStream::PostClosed() {
  if (!close_posted_.exchange(true, std::memory_order_relaxed)) intake_->PostStreamClosed(id_);
}

void ServerStream::OnDone() {
  Intake* const intake = intake_;
  intake->PostStreamDone(id_, close_posted_.load(std::memory_order_relaxed));
  delete this;
  intake->Left(Intake::Guest::kStream);
}

}  // namespace assay
