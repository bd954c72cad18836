// The way from gRPC's reactors into the control loop: ids, limits, counts and posting.
//
// Everything that clients can make grow is counted here and refused above its limit, with one
// exception: messages that carry outcomes are not refused because of the mailbox's length; their
// sources bound them (an agent has one message in flight).
//
// Thread safety: any thread. Lifetime: outlives every reactor; the coordinator waits for
// Live() == 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "control/inbound.h"

namespace assay::control {

struct IntakeLimits {
  std::size_t mailbox_max = 100'000;  // waiting items; from then on calls are refused
  // Subscriptions in total, of stress tests and of job signals; the core has a separate limit for
  // the latter (Settings::subscriptions_max).
  std::int64_t streams_max = 30'000;
  std::int64_t links_max = 20'000;   // attached agents in total
  std::int64_t calls_max = 100'000;  // unary calls in progress
  // Bytes of the large requests in progress. Requests that carry outcomes have the higher limit, so
  // that other requests cannot crowd them out.
  std::int64_t request_bytes_max = std::int64_t{512} << 20;
  std::int64_t outcome_bytes_max = std::int64_t{2048} << 20;
};

class Intake {
 public:
  explicit Intake(const IntakeLimits& limits) : limits_(limits) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  std::uint64_t NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  // Admit counts each object that it accepts. Each admitted object calls Left exactly once, as its
  // last access to the intake.
  enum class Guest : std::uint8_t { kCall, kStream, kLink };
  base::Status Admit(Guest guest);
  void Left(Guest guest) { Count(guest).fetch_sub(1, std::memory_order_release); }
  std::int64_t Live() const;

  // kExhausted when mailbox_max items wait. For calls that carry no outcomes.
  base::Status AdmitCommand() const;

  // Counts the bytes of a large request until FreeBytes; kExhausted above the limit.
  base::Status HoldBytes(std::size_t bytes, bool outcomes);
  void FreeBytes(std::size_t bytes) {
    held_bytes_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }

  void PostCall(std::uint64_t id, PendingCall* call, core::Event&& event);
  void PostStreamOpened(std::uint64_t id, StreamPort* stream, core::StreamOpened&& event);
  void PostStreamClosed(std::uint64_t id);
  void PostStreamDone(std::uint64_t id, bool close_posted);
  void PostLinkOpened(std::uint64_t id, LinkPort* link);
  void PostLinkMessage(std::uint64_t id, core::AgentMessage&& message);
  void PostLinkClosed(std::uint64_t id, std::unique_ptr<base::Status> why);
  void PostLinkDone(std::uint64_t id, bool close_posted);

  // Admit refuses everything from now on, and the loop ends every stream and link.
  void BeginStop();
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  LoopMailbox& mailbox() { return mailbox_; }

 private:
  std::atomic<std::int64_t>& Count(Guest guest) { return counts_[static_cast<int>(guest)]; }
  void Post(Inbound&& item);

  const IntakeLimits limits_;
  LoopMailbox mailbox_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::int64_t> counts_[3]{};
  std::atomic<std::int64_t> held_bytes_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace assay::control
