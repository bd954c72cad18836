// The way from gRPC's reactors into the control loop: ids, limits, counts and posting.
//
// Everything that clients can make grow is counted here and refused above its limit, with one
// exception: messages that carry outcomes are not refused because of the mailbox's length; their
// sources bound them (an agent has one message in flight).
//
//   base::Result<Admission> admission = intake->Admit({.kind = Admission::Kind::kStream});
//   if (!admission.ok()) return admission.status();
//   auto* stream = new Stream(std::move(*admission));  // counted until the admission is released
//
// The gate (rpc/gate.h) calls Admit for every call of a client, and the jobs directory for its own
// commands.
//
// Stopping: Admit counts first and then reads `stopping_`; BeginStop sets `stopping_` first, and
// the coordinator reads the counts after it. All four are sequentially consistent, so at least one
// of the two sides sees the other: live_count() includes every object that Admit accepted.
//
// Thread safety: any thread. Lifetime: outlives every admission; the coordinator waits for
// live_count() == 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

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

class Intake;

// The place of one call, stream or link in the intake's counts. It is released exactly once: by
// Release, by the destructor, or by the object that it is moved to. The release is the last access
// to the intake, so an object that deletes itself moves its admission into a local variable first.
//
// Thread safety: none; it belongs to the object that it was given to.
class Admission {
 public:
  enum class Kind : std::uint8_t { kCall, kStream, kLink };

  Admission() = default;  // holds no place
  Admission(Admission&& other) noexcept
      : intake_(std::exchange(other.intake_, nullptr)), bytes_(other.bytes_), kind_(other.kind_) {}
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() { Release(); }

  void Release();

 private:
  friend class Intake;
  Admission(Intake* intake, Kind kind, std::size_t bytes)
      : intake_(intake), bytes_(bytes), kind_(kind) {}

  Intake* intake_ = nullptr;  // null: released
  std::size_t bytes_ = 0;
  Kind kind_ = Kind::kCall;
};

class Intake {
 public:
  explicit Intake(const IntakeLimits& limits) : limits_(limits) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  std::uint64_t NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  struct AdmissionRequest {
    Admission::Kind kind = Admission::Kind::kCall;
    bool command = false;         // refused while mailbox_max items wait
    std::size_t large_bytes = 0;  // of a large request; counted until the release
    bool outcomes = false;        // large_bytes has the limit of requests that carry outcomes
  };
  // kExhausted above a limit, kUnavailable after BeginStop.
  base::Result<Admission> Admit(const AdmissionRequest& request);

  // The calls, streams and links that are admitted now.
  std::int64_t live_count() const;

  void PostCall(std::uint64_t id, PendingCall* call, core::Event&& event);
  void PostStreamOpened(std::uint64_t id, StreamPort* stream, core::StreamOpened&& event);
  void PostStreamClosed(std::uint64_t id);
  void PostStreamDone(std::uint64_t id, bool close_posted);
  void PostLinkOpened(std::uint64_t id, LinkPort* link);
  void PostLinkMessage(std::uint64_t id, core::Caller&& caller, core::AgentMessage&& message);
  void PostLinkClosed(std::uint64_t id, std::unique_ptr<base::Status> why);
  void PostLinkDone(std::uint64_t id, bool close_posted);

  // Admit refuses everything from now on, and the loop ends every stream and link.
  void BeginStop();
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  LoopMailbox& mailbox() { return mailbox_; }

 private:
  friend class Admission;

  std::atomic<std::int64_t>& Count(Admission::Kind kind) { return counts_[static_cast<int>(kind)]; }
  base::Status CheckMailbox() const;
  // Counts the bytes until FreeBytes, unless they exceed the limit.
  base::Status HoldBytes(std::size_t bytes, bool outcomes);
  void FreeBytes(std::size_t bytes) {
    held_bytes_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  // Why no further object of that kind is admitted; `count` includes it.
  base::Status CheckCount(Admission::Kind kind, std::int64_t count) const;
  void Release(Admission::Kind kind, std::size_t bytes);
  void Post(Inbound&& item);

  const IntakeLimits limits_;
  LoopMailbox mailbox_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::int64_t> counts_[3]{};
  std::atomic<std::int64_t> held_bytes_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace assay::control
