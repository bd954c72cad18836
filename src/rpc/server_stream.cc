#include "rpc/server_stream.h"

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "wire/grpc_status.h"

namespace assay::rpc {

ServerStream* ServerStream::Open(control::Intake* intake, Pass&& pass,
                                 grpc::CallbackServerContext* context, const Limits& limits,
                                 core::StreamOpened opened) {
  auto* stream = new ServerStream(intake, std::move(pass.admission), context, limits);
  opened.stream = stream->id_;
  opened.caller = std::move(pass.caller);
  intake->PostStreamOpened(stream->id_, stream, std::move(opened));
  // The loop may already have ended the stream, but gRPC keeps it until the RPC handler returns.
  return stream;
}

void ServerStream::NameRun(core::RunId run) {
  context_->AddInitialMetadata("assay-run", std::to_string(run));
}

bool ServerStream::Ready(std::size_t bytes) {
  const std::size_t unwritten = unwritten_.load(std::memory_order_relaxed);
  const bool fits = unwritten <= limits_.bytes_max && bytes <= limits_.bytes_max - unwritten;
  if (fits && !outbox_.Full()) return true;
  // When nothing is unwritten, a message of any size may be sent.
  return !outbox_.WaitForRoom();
}

bool ServerStream::Send(const control::Bytes& bytes) {
  const std::size_t size = bytes->Length();
  unwritten_.fetch_add(size, std::memory_order_relaxed);
  switch (outbox_.Push(control::Bytes(bytes))) {
    case lockfree::PushResult::kStartPump:
      outbox_.Pump(this);
      return true;
    case lockfree::PushResult::kQueued:
    case lockfree::PushResult::kClosed:
      return true;
    case lockfree::PushResult::kFull:
      break;
  }
  unwritten_.fetch_sub(size, std::memory_order_relaxed);
  return false;
}

void ServerStream::End(const base::Status& status) {
  if (outbox_.PushFinal(wire::ToGrpc(status)) == lockfree::PushResult::kStartPump)
    outbox_.Pump(this);
}

void ServerStream::PostClosed() {
  if (!close_posted_.exchange(true, std::memory_order_relaxed)) intake_->PostStreamClosed(id_);
}

void ServerStream::OnWriteDone(bool ok) {
  unwritten_.fetch_sub(writing_, std::memory_order_relaxed);
  outbox_.WriteDone(ok, this);
}

void ServerStream::OnDone() {
  const control::Admission admission = std::move(admission_);  // released last
  intake_->PostStreamDone(id_, close_posted_.load(std::memory_order_relaxed));
  delete this;
}

}  // namespace assay::rpc
