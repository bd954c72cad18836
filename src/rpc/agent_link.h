// One agent's stream: the coordinator's side of Fleet/Attach.
//
// Reading: one message is in flight. The control loop starts the first read and, once it has
// consumed a message, the next one. A heartbeat is not an event: the link records the time and
// starts the next read itself. Large messages are parsed on a worker, not on gRPC's few threads.
// Writing: the fan-out shard of this link is the only filler of its outbox.
// End: a disconnect or an error is posted once as LinkClosed (with a status if the agent is at
// fault); the loop posts the end into the shard, the shard calls End, gRPC calls OnDone, which
// posts LinkDone and deletes the object.
//
// The link's own reads could race with an End on another thread: a read started after Finish would
// touch a finished call. `handlers_` prevents that. It counts the handlers inside, the threads that
// handle a message (briefly two: a handler that has started the next read leaves only after that
// read's handler may have entered), and has a bit that requests Finish. No handler enters once the
// bit is set. The thread that brings it to "bit set, no handler inside" calls Finish; that
// happens once. So no read starts after Finish, and since gRPC calls OnDone only after Finish, a
// handler inside may use the object on any thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "control/intake.h"
#include "control/task_thread.h"
#include "core/fleet_message.h"
#include "lockfree/outbox.h"
#include "rpc/bytes.h"
#include "rpc/gate.h"

namespace assay::rpc {

class AgentLink final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                        public control::LinkPort {
 public:
  // Posts LinkOpened. pass: of this link; every message is posted with its caller, and its
  // admission is released after the object's deletion.
  static AgentLink* Open(control::Intake* intake, Pass&& pass, control::TaskThread* parser,
                         grpc::CallbackServerContext* context);

  // --- Called by the control loop ---
  void ReadNext() override;
  core::Ms SilentFor() const override;

  // --- Called by the fan-out ---
  void Deliver(const core::CoordinatorMessage& message) override;
  void End(const base::Status& status) override;

  // --- Called by the outbox ---
  void Write(const control::Bytes& bytes) { StartWrite(bytes.get()); }
  void Finish(const grpc::Status& status);
  void Room() {}

 private:
  // Room for the assignments of all jobs of a node and for acknowledgements. An agent that leaves
  // this many messages unread is ended; when it attaches again, everything is sent again.
  static constexpr std::uint32_t kOutbox = 128;
  static constexpr std::uint32_t kFinish = 1;
  static constexpr std::uint32_t kInside = 2;

  AgentLink(control::Intake* intake, Pass&& pass, control::TaskThread* parser,
            grpc::CallbackServerContext* context)
      : intake_(intake),
        pass_(std::move(pass)),
        parser_(parser),
        context_(context),
        id_(intake->NextId()),
        outbox_(kOutbox) {}
  ~AgentLink() override = default;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override { outbox_.WriteDone(ok, this); }
  void OnCancel() override { PostClosed(nullptr); }
  void OnDone() override;

  // Parses incoming_, posts the message or starts the next read, and leaves. REQUIRES: the thread
  // has entered.
  void Handle();
  // False: Finish was requested.
  bool Enter();
  void Leave();
  // Posts to the loop, once, that the link must end. why: the reason; null: the agent disconnected.
  void PostClosed(std::unique_ptr<base::Status> why);

  control::Intake* const intake_;
  Pass pass_;  // changed by OnDone only
  control::TaskThread* const parser_;
  grpc::CallbackServerContext* const context_;  // lives until OnDone
  const std::uint64_t id_;
  lockfree::Outbox<control::Bytes, grpc::Status> outbox_;
  grpc::ByteBuffer incoming_;  // owned by gRPC from StartRead to OnReadDone, then by Handle
  // When the last message arrived (steady clock), or kInHand. Relaxed: it orders nothing.
  std::atomic<core::Ms> heard_{0};
  std::atomic<std::uint32_t> handlers_{0};
  grpc::Status final_;  // set before kFinish
  std::atomic<bool> close_posted_{false};
};

}  // namespace assay::rpc
