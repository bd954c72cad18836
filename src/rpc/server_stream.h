// One subscriber's stream (notify, result or job signals): a reactor that writes what a fan-out
// queue gives it.
//
// Its life: a handler makes it and posts StreamOpened. From then on the control loop decides; the
// filler is whichever fan-out queue the loop gave the stream to, one at a time. The filler's End is
// its last word: gRPC then calls OnDone, which posts StreamDone, and deletes it. A client that goes
// away (OnCancel) is only posted; the stream still lives until End.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "control/intake.h"
#include "core/event.h"
#include "lockfree/outbox.h"
#include "rpc/bytes.h"

namespace assay {

class ServerStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public StreamPort {
 public:
  // What may wait in it, and who hears of room; nobody: it waits for none.
  struct Limits {
    RoomListener* listener = nullptr;  // outlives the stream
    std::size_t bytes_max = 0;
    std::uint32_t messages_max = 0;  // a power of two
  };
  // A notification is rare (one a run) and a result comes once; a client that leaves so many unread
  // does not read at all.
  static constexpr Limits kForStressTests{nullptr, static_cast<std::size_t>(-1), 16};

  // Posts `opened`, whose `stream` it fills in. REQUIRES: admitted as a Guest::kStream.
  static ServerStream* Open(Intake* intake, grpc::CallbackServerContext* context,
                            const Limits& limits, StreamOpened opened);
  // Its first word is its last: for requests that are refused before they become a stream.
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Refuse(const grpc::Status& status);

  // --- The filler's ---
  void Announce() override { StartSendInitialMetadata(); }
  void NameRun(RunId run) override;  // puts `assay-run` into the initial metadata
  bool Ready(std::size_t bytes) override;
  bool Send(const Bytes& bytes) override;
  void PostClosed() override;
  void End(const Status& status) override;

  // --- For the outbox ---
  void Write(const Bytes& bytes) {
    writing_ = bytes->Length();
    StartWrite(bytes.get());
  }
  void Finish(const grpc::Status& status) { ServerWriteReactor::Finish(status); }
  void Room() {
    if (limits_.listener != nullptr) limits_.listener->StreamHasRoom(id_);
  }

 private:
  ServerStream(Intake* intake, grpc::CallbackServerContext* context, const Limits& limits)
      : intake_(intake),
        context_(context),
        limits_(limits),
        id_(intake->NextId()),
        outbox_(limits.messages_max) {}
  ~ServerStream() override = default;

  void OnWriteDone(bool ok) override;
  void OnCancel() override { PostClosed(); }
  void OnDone() override;

  Intake* const intake_;
  grpc::CallbackServerContext* const context_;
  const Limits limits_;
  const std::uint64_t id_;
  // Pushed and not written: the filler adds, the pump takes off before it says so to the outbox.
  // (What is dropped after a failed write stays in it, and matters to nobody.)
  std::atomic<std::size_t> unwritten_{0};
  std::size_t writing_ = 0;  // the pump's
  Outbox<Bytes, grpc::Status> outbox_;
  std::atomic<bool> close_posted_{false};  // OnCancel and the filler may both want to
};

}  // namespace assay
