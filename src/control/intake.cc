#include "control/intake.h"

#include <string>
#include <utility>

namespace assay::control {

// --- Admission ---

Admission& Admission::operator=(Admission&& other) noexcept {
  if (this == &other) return *this;
  Release();
  intake_ = std::exchange(other.intake_, nullptr);
  bytes_ = other.bytes_;
  kind_ = other.kind_;
  return *this;
}

void Admission::Release() {
  if (Intake* const intake = std::exchange(intake_, nullptr)) intake->Release(kind_, bytes_);
}

// --- Intake ---

base::Result<Admission> Intake::Admit(const AdmissionRequest& request) {
  if (request.command) {
    if (base::Status status = CheckMailbox(); !status.ok()) return status;
  }
  if (request.large_bytes != 0) {
    if (base::Status status = HoldBytes(request.large_bytes, request.outcomes); !status.ok()) {
      return status;
    }
  }
  const std::int64_t count = Count(request.kind).fetch_add(1, std::memory_order_seq_cst) + 1;
  // Releases both counts when the object is refused.
  Admission admission(this, request.kind, request.large_bytes);
  if (base::Status status = CheckCount(request.kind, count); !status.ok()) return status;
  return admission;
}

base::Status Intake::CheckMailbox() const {
  if (mailbox_.Depth() < limits_.mailbox_max) return base::Status::Ok();
  return base::ExhaustedError("the coordinator is overloaded (" +
                              std::to_string(limits_.mailbox_max) +
                              " requests are waiting); try again");
}

base::Status Intake::HoldBytes(std::size_t bytes, bool outcomes) {
  const auto size = static_cast<std::int64_t>(bytes);
  const std::int64_t max = outcomes ? limits_.outcome_bytes_max : limits_.request_bytes_max;
  if (held_bytes_.fetch_add(size, std::memory_order_relaxed) + size <= max)
    return base::Status::Ok();
  FreeBytes(bytes);
  return base::ExhaustedError("the coordinator is overloaded (large requests of " +
                              std::to_string(max >> 20) + " MiB are in progress); try again");
}

base::Status Intake::CheckCount(Admission::Kind kind, std::int64_t count) const {
  if (stopping_.load(std::memory_order_seq_cst)) {
    return base::UnavailableError("the coordinator is stopping; try again later");
  }
  switch (kind) {
    case Admission::Kind::kCall:
      if (count <= limits_.calls_max) break;
      return base::ExhaustedError("too many calls in progress (limit " +
                                  std::to_string(limits_.calls_max) + "); try again");
    case Admission::Kind::kStream:
      if (count <= limits_.streams_max) break;
      return base::ExhaustedError("too many subscriptions (limit " +
                                  std::to_string(limits_.streams_max) +
                                  " in total); end some first");
    case Admission::Kind::kLink:
      if (count <= limits_.links_max) break;
      return base::ExhaustedError("too many attached agents (limit " +
                                  std::to_string(limits_.links_max) + ")");
  }
  return base::Status::Ok();
}

void Intake::Release(Admission::Kind kind, std::size_t bytes) {
  if (bytes != 0) FreeBytes(bytes);
  // The last access: once the count is 0, the intake may be destroyed.
  Count(kind).fetch_sub(1, std::memory_order_release);
}

std::int64_t Intake::live_count() const {
  std::int64_t live = 0;
  for (const std::atomic<std::int64_t>& count : counts_) {
    live += count.load(std::memory_order_seq_cst);
  }
  return live;
}

void Intake::Post(Inbound&& item) {
  // Post fails only after Close, which the coordinator calls once no poster is left, so no item is
  // lost.
  (void)mailbox_.Post(std::move(item));
}

void Intake::PostCall(std::uint64_t id, PendingCall* call, core::Event&& event) {
  Inbound item;
  item.kind = Inbound::Kind::kCall;
  item.id = id;
  item.call = call;
  item.event = std::make_unique<core::Event>(std::move(event));
  Post(std::move(item));
}

void Intake::PostStreamOpened(std::uint64_t id, StreamPort* stream, core::StreamOpened&& event) {
  Inbound item;
  item.kind = Inbound::Kind::kStreamOpened;
  item.id = id;
  item.stream = stream;
  item.event = std::make_unique<core::Event>(std::move(event));
  Post(std::move(item));
}

void Intake::PostStreamClosed(std::uint64_t id) {
  Inbound item;
  item.kind = Inbound::Kind::kStreamClosed;
  item.id = id;
  Post(std::move(item));
}

void Intake::PostStreamDone(std::uint64_t id, bool close_posted) {
  Inbound item;
  item.kind = Inbound::Kind::kStreamDone;
  item.id = id;
  item.close_posted = close_posted;
  Post(std::move(item));
}

void Intake::PostLinkOpened(std::uint64_t id, LinkPort* link) {
  Inbound item;
  item.kind = Inbound::Kind::kLinkOpened;
  item.id = id;
  item.link = link;
  Post(std::move(item));
}

void Intake::PostLinkMessage(std::uint64_t id, core::Caller&& caller,
                             core::AgentMessage&& message) {
  Inbound item;
  item.kind = Inbound::Kind::kLinkMessage;
  item.id = id;
  item.event =
      std::make_unique<core::Event>(core::LinkMessage{id, std::move(message), std::move(caller)});
  Post(std::move(item));
}

void Intake::PostLinkClosed(std::uint64_t id, std::unique_ptr<base::Status> why) {
  Inbound item;
  item.kind = Inbound::Kind::kLinkClosed;
  item.id = id;
  item.status = std::move(why);
  Post(std::move(item));
}

void Intake::PostLinkDone(std::uint64_t id, bool close_posted) {
  Inbound item;
  item.kind = Inbound::Kind::kLinkDone;
  item.id = id;
  item.close_posted = close_posted;
  Post(std::move(item));
}

void Intake::BeginStop() {
  stopping_.store(true, std::memory_order_seq_cst);
  Inbound item;
  item.kind = Inbound::Kind::kStop;
  Post(std::move(item));
}

}  // namespace assay::control
