// One subscriber's stream (notify, result or job signals): a reactor that writes the messages of a
// fan-out queue.
//
// Lifetime: an RPC handler passes the gate and calls Open, which posts StreamOpened. From then on
// the control loop decides. The stream's filler is the fan-out queue that the loop handed it to,
// one at a time. The filler's last call is End; gRPC then calls OnDone, which posts StreamDone and
// deletes the object. A client's disconnect (OnCancel) is only posted; the stream lives until End.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "control/intake.h"
#include "core/event.h"
#include "lockfree/outbox.h"
#include "rpc/bytes.h"
#include "rpc/gate.h"

namespace assay::rpc {

class ServerStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                           public control::StreamPort {
 public:
  // How much may be unwritten, and the listener that is notified of room (null: none).
  struct Limits {
    control::RoomListener* listener = nullptr;  // outlives the stream
    std::size_t bytes_max = 0;
    std::uint32_t messages_max = 0;  // a power of two
  };
  // A run sends one notification and one result, so a client with 16 unread messages does not read
  // at all.
  static constexpr Limits kForStressTests{nullptr, static_cast<std::size_t>(-1), 16};

  // Sets `opened.stream` and `opened.caller`, and posts `opened`. pass: of this stream; its
  // admission is released after the object's deletion.
  static ServerStream* Open(control::Intake* intake, Pass&& pass,
                            grpc::CallbackServerContext* context, const Limits& limits,
                            core::StreamOpened opened);

  // --- Called by the filler ---
  void Announce() override { StartSendInitialMetadata(); }
  void NameRun(core::RunId run) override;  // metadata key `assay-run`
  bool Ready(std::size_t bytes) override;
  bool Send(const control::Bytes& bytes) override;
  void PostClosed() override;
  void End(const base::Status& status) override;

  // --- Called by the outbox ---
  void Write(const control::Bytes& bytes) {
    writing_ = bytes->Length();
    StartWrite(bytes.get());
  }
  void Finish(const grpc::Status& status) { ServerWriteReactor::Finish(status); }
  void Room() {
    if (limits_.listener != nullptr) limits_.listener->StreamHasRoom(id_);
  }

 private:
  ServerStream(control::Intake* intake, control::Admission&& admission,
               grpc::CallbackServerContext* context, const Limits& limits)
      : intake_(intake),
        admission_(std::move(admission)),
        context_(context),
        limits_(limits),
        id_(intake->NextId()),
        outbox_(limits.messages_max) {}
  ~ServerStream() override = default;

  void OnWriteDone(bool ok) override;
  void OnCancel() override { PostClosed(); }
  void OnDone() override;

  control::Intake* const intake_;
  control::Admission admission_;
  grpc::CallbackServerContext* const context_;
  const Limits limits_;
  const std::uint64_t id_;
  // Bytes pushed and not yet written. The filler adds; the pump subtracts before it calls
  // outbox_.WriteDone, so the filler sees the bytes free once the outbox shows the slot free.
  // (Messages dropped after a failed write stay counted; the stream is closed then, so the count is
  // not used any more.)
  std::atomic<std::size_t> unwritten_{0};
  std::size_t writing_ = 0;  // bytes of the write in flight; owned by the pump
  lockfree::Outbox<control::Bytes, grpc::Status> outbox_;
  std::atomic<bool> close_posted_{false};  // set by OnCancel or the filler, whichever is first
};

}  // namespace assay::rpc
