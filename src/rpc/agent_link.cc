#include "rpc/agent_link.h"

#include <grpcpp/server_context.h>

#include <optional>
#include <utility>

#include "base/steady_clock.h"
#include "fleet.pb.h"
#include "wire/fleet_wire.h"
#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

constexpr core::Ms kInHand = -1;  // a message is being processed

base::Result<std::optional<core::AgentMessage>> Parse(const grpc::ByteBuffer& bytes) {
  fleet::AgentMessage wire;
  if (base::Status status = ParseBytes(bytes, &wire); !status.ok()) return status;
  return wire::FromWire(wire);
}

}  // namespace

AgentLink* AgentLink::Open(control::Intake* intake, Pass&& pass, control::TaskThread* parser,
                           grpc::CallbackServerContext* context) {
  auto* link = new AgentLink(intake, std::move(pass), parser, context);
  link->heard_.store(base::SteadyNow(), std::memory_order_relaxed);
  intake->PostLinkOpened(link->id_, link);
  return link;
}

void AgentLink::ReadNext() {
  heard_.store(base::SteadyNow(), std::memory_order_relaxed);
  StartRead(&incoming_);
}

core::Ms AgentLink::SilentFor() const {
  const core::Ms heard = heard_.load(std::memory_order_relaxed);
  return heard == kInHand ? 0 : base::SteadyNow() - heard;
}

void AgentLink::OnReadDone(bool ok) {
  if (!ok) return PostClosed(nullptr);
  if (!Enter()) return;
  heard_.store(kInHand, std::memory_order_relaxed);
  if (incoming_.Length() > kLargeBytes) {
    parser_->Post([this] { Handle(); });
  } else {
    Handle();
  }
}

void AgentLink::Handle() {
  base::Result<std::optional<core::AgentMessage>> message = Parse(incoming_);
  incoming_.Clear();
  if (!message.ok()) {
    PostClosed(std::make_unique<base::Status>(message.status()));
    Leave();
  } else if (!message->has_value()) {
    heard_.store(base::SteadyNow(), std::memory_order_relaxed);
    StartRead(&incoming_);
    Leave();
  } else {
    // Leave before posting: once the loop has the message, the next one may arrive on another
    // thread, and this object may be deleted.
    control::Intake* const intake = intake_;
    const std::uint64_t id = id_;
    core::Caller caller = pass_.caller;
    Leave();
    intake->PostLinkMessage(id, std::move(caller), std::move(**message));
  }
}

bool AgentLink::Enter() {
  std::uint32_t handlers = handlers_.load(std::memory_order_relaxed);
  while ((handlers & kFinish) == 0) {
    if (handlers_.compare_exchange_weak(handlers, handlers + kInside, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void AgentLink::Leave() {
  if (handlers_.fetch_sub(kInside, std::memory_order_acq_rel) == (kInside | kFinish)) {
    ServerBidiReactor::Finish(final_);
  }
}

void AgentLink::Finish(const grpc::Status& status) {
  final_ = status;
  if (handlers_.fetch_or(kFinish, std::memory_order_acq_rel) == 0)
    ServerBidiReactor::Finish(final_);
}

void AgentLink::Deliver(const core::CoordinatorMessage& message) {
  switch (outbox_.Push(SharedBytes(wire::ToWire(message)))) {
    case lockfree::PushResult::kStartPump:
      return outbox_.Pump(this);
    case lockfree::PushResult::kQueued:
    case lockfree::PushResult::kClosed:
      return;
    case lockfree::PushResult::kFull:
      PostClosed(std::make_unique<base::Status>(base::ExhaustedError(
          "the agent does not read the coordinator's messages; attach again")));
      // The queued messages will not be read, and the end would wait behind them, so cancel. The
      // context still exists, because only this filler lets the stream finish.
      context_->TryCancel();
  }
}

void AgentLink::End(const base::Status& status) {
  if (outbox_.PushFinal(wire::ToGrpc(status)) == lockfree::PushResult::kStartPump)
    outbox_.Pump(this);
}

void AgentLink::PostClosed(std::unique_ptr<base::Status> why) {
  if (!close_posted_.exchange(true, std::memory_order_relaxed)) {
    intake_->PostLinkClosed(id_, std::move(why));
  }
}

void AgentLink::OnDone() {
  const control::Admission admission = std::move(pass_.admission);  // released last
  intake_->PostLinkDone(id_, close_posted_.load(std::memory_order_relaxed));
  delete this;
}

}  // namespace assay::rpc
