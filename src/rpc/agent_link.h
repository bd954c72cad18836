// One agent's stream: Fleet/Attach on the coordinator's side.
//
// Reading: one message is in flight. The control loop arms the first read and, when it has consumed
// a message, the next one; a heartbeat is not an event: the link notes the time and reads on by
// itself. Large messages are parsed on a worker, not on gRPC's few threads.
// Writing: the fan-out shard of this link is the filler of its outbox, and the only one.
// Its end: whatever is wrong is posted once as LinkClosed (with a status, if it is the agent's
// fault); the loop posts the end into the shard, the shard calls End, gRPC calls OnDone, which
// posts LinkDone and deletes it.
//
// Reading by itself and being ended by another thread could meet: a read started after Finish would
// touch a dead call. `gate_` keeps them apart. It counts who handles a message (two for a moment:
// who has started the next read leaves after its message was entered) and has a bit for the wish to
// finish. Nobody enters once the bit is set; whoever brings the gate to "wished for and nobody
// inside" calls Finish, which happens once. So nothing is started after Finish, and as gRPC ends
// the object only after Finish, who is inside may touch it on any thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "control/intake.h"
#include "control/task_thread.h"
#include "core/fleet_message.h"
#include "lockfree/outbox.h"
#include "rpc/bytes.h"

namespace assay {

class AgentLink final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                        public LinkPort {
 public:
  // Posts LinkOpened. REQUIRES: admitted as a Guest::kLink.
  static AgentLink* Open(Intake* intake, Worker* parser, grpc::CallbackServerContext* context);
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Refuse(
      const grpc::Status& status);

  // --- The control loop's ---
  void ReadNext() override;
  Ms SilentFor() const override;

  // --- The fan-out's ---
  void Deliver(const CoordinatorMessage& message) override;
  void End(const Status& status) override;

  // --- For the outbox ---
  void Write(const Bytes& bytes) { StartWrite(bytes.get()); }
  void Finish(const grpc::Status& status);
  void Room() {}

 private:
  // Assignments of all jobs of a node and acknowledgements; an agent that leaves so many unread is
  // told everything again when it comes back.
  static constexpr std::uint32_t kOutbox = 128;
  static constexpr std::size_t kLargeBytes = 64 * 1024;
  static constexpr std::uint32_t kFinish = 1;
  static constexpr std::uint32_t kInside = 2;

  AgentLink(Intake* intake, Worker* parser, grpc::CallbackServerContext* context)
      : intake_(intake),
        parser_(parser),
        context_(context),
        id_(intake->NextId()),
        outbox_(kOutbox) {}
  ~AgentLink() override = default;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override { outbox_.WriteDone(ok, this); }
  void OnCancel() override { PostClosed(nullptr); }
  void OnDone() override;

  void Handle();  // inside: parses incoming_, says it or reads on, leaves
  bool Enter();
  void Leave();
  // The link must end for this reason (null: the agent went away): tells the loop, once.
  void PostClosed(std::unique_ptr<Status> why);

  Intake* const intake_;
  Worker* const parser_;
  grpc::CallbackServerContext* const context_;  // lives until OnDone
  const std::uint64_t id_;
  Outbox<Bytes, grpc::Status> outbox_;
  grpc::ByteBuffer incoming_;  // gRPC's between StartRead and OnReadDone, then Handle's
  std::atomic<Ms> heard_{0};   // steady clock; or kInHand
  std::atomic<std::uint32_t> gate_{0};
  grpc::Status final_;  // set before kFinish
  std::atomic<bool> close_posted_{false};
};

}  // namespace assay
