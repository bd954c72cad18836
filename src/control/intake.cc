#include "control/intake.h"

#include <string>
#include <utility>

namespace assay::control {

base::Status Intake::Admit(Guest guest) {
  // Counts first, then reads the flag; BeginStop sets the flag first, and the counts are read after
  // it. With sequentially consistent order at least one of the two sees the other.
  const std::int64_t now = Count(guest).fetch_add(1, std::memory_order_seq_cst) + 1;
  std::string why;
  base::Code code = base::Code::kExhausted;
  if (stopping_.load(std::memory_order_seq_cst)) {
    code = base::Code::kUnavailable;
    why = "the coordinator is stopping; try again later";
  } else if (guest == Guest::kCall && now > limits_.calls_max) {
    why = "too many calls in progress (limit " + std::to_string(limits_.calls_max) + "); try again";
  } else if (guest == Guest::kStream && now > limits_.streams_max) {
    why = "too many subscriptions (limit " + std::to_string(limits_.streams_max) +
          " in total); end some first";
  } else if (guest == Guest::kLink && now > limits_.links_max) {
    why = "too many attached agents (limit " + std::to_string(limits_.links_max) + ")";
  } else {
    return base::Status::Ok();
  }
  Left(guest);
  return {code, std::move(why)};
}

std::int64_t Intake::Live() const {
  std::int64_t live = 0;
  for (const std::atomic<std::int64_t>& count : counts_) {
    live += count.load(std::memory_order_seq_cst);
  }
  return live;
}

base::Status Intake::AdmitCommand() const {
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

void Intake::PostLinkMessage(std::uint64_t id, core::AgentMessage&& message) {
  Inbound item;
  item.kind = Inbound::Kind::kLinkMessage;
  item.id = id;
  item.event = std::make_unique<core::Event>(core::LinkMessage{id, std::move(message)});
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
