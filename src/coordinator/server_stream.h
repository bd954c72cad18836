// One subscriber's stream (notify or result): a reactor that writes what a fan-out queue gives it.
//
// Its life: a handler makes it and posts StreamOpened. From then on the control loop decides; the
// filler is whichever fan-out queue the loop gave the stream to, one at a time. The filler's End is
// its last word: gRPC then calls OnDone, which posts StreamDone, and deletes it. A client that goes
// away (OnCancel) is only posted; the stream still lives until End.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>

#include "coordinator/bytes.h"
#include "coordinator/intake.h"
#include "core/event.h"
#include "lockfree/outbox.h"

namespace assay {

class ServerStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public StreamPort {
 public:
  // Posts StreamOpened. REQUIRES: admitted as a Guest::kStream.
  static ServerStream* Open(Intake* intake, grpc::CallbackServerContext* context, Topic topic,
                            Caller caller, std::string job);
  // Its first word is its last: for requests that are refused before they become a stream.
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Refuse(const grpc::Status& status);

  // --- The filler's ---
  void Announce() override { StartSendInitialMetadata(); }
  void NameRun(RunId run) override;  // puts `assay-run` into the initial metadata
  bool Send(const Bytes& bytes) override;
  void PostClosed() override;
  void End(const Status& status) override;

  // --- For the outbox ---
  void Write(const Bytes& bytes) { StartWrite(bytes.get()); }
  void Finish(const grpc::Status& status) { ServerWriteReactor::Finish(status); }
  void Room() {}  // a full outbox ends the stream: nobody waits for room

 private:
  // A notification is rare (one a run) and a result comes once; a client that leaves so many unread
  // does not read at all.
  static constexpr std::uint32_t kOutbox = 16;

  ServerStream(Intake* intake, grpc::CallbackServerContext* context)
      : intake_(intake), context_(context), id_(intake->NextId()), outbox_(kOutbox) {}
  ~ServerStream() override = default;

  void OnWriteDone(bool ok) override { outbox_.WriteDone(ok, this); }
  void OnCancel() override { PostClosed(); }
  void OnDone() override;

  Intake* const intake_;
  grpc::CallbackServerContext* const context_;
  const std::uint64_t id_;
  Outbox<Bytes, grpc::Status> outbox_;
  std::atomic<bool> close_posted_{false};  // OnCancel and the filler may both want to
};

}  // namespace assay
