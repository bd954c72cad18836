// Outbox<Message, Final>: the messages that still have to be written to one stream.
//
// It is a bounded ring between a filler and a write pump, without a lock. The filler is one thread
// at a time (the fan-out worker that currently processes the queue). There is one pump at a time,
// which moves from thread to thread, and one write is in flight. The end of the stream is an entry
// of the ring, too.
//
//   class Subscriber : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
//     void OnWriteDone(bool ok) override { outbox_.WriteDone(ok, this); }
//     // The three functions that the pump calls on a stream:
//     void Write(const grpc::ByteBuffer& m) { StartWrite(&m); }
//     void Finish(const grpc::Status& s) { ServerWriteReactor::Finish(s); }
//     void Room() { fanout_->Post(RoomEntry{id_}); }
//   };
//   // The filler, inside FanoutQueue::Handle:
//   switch (outbox->Push(std::move(bytes))) {
//     case PushResult::kStartPump: outbox->Pump(stream); break;
//     ...
//
// The filler calls:
//   Push         kQueued: accepted; the pump will write it.
//                kStartPump: accepted; the caller has become the pump and must call Pump.
//                kFull: refused; Room() will be called once, when at least half the ring is free.
//                kClosed: refused; a write failed or the final entry was pushed.
//                A refused message is untouched.
//   WaitForRoom  for a filler with a limit of its own, such as a number of unwritten bytes.
//                True: Room() will be called once, as after kFull. False: the ring is empty, so
//                nothing would call Room(), and all of the ring is free.
//   PushFinal    always succeeds the first time, because the final entry has a place of its own;
//                kClosed after that. The filler removes the stream from its lists before the call,
//                and must not use it afterwards (except for the Pump that kStartPump demands): the
//                stream may be deleted before PushFinal returns.
// The pump calls:
//   Pump         writes the front entry. Write and Finish are its last access to the stream: before
//                they return, the next thread may be in WriteDone, or the stream may be deleted.
//   WriteDone    after each write: drops the written message, calls Room() if the filler waits for
//                it, and writes the next entry. After a failed write it drops the remaining
//                messages and writes only the final entry.
//
// Room() runs on the pump's thread and must only post an entry. The entry holds an id, not a
// pointer, because the filler may have released the stream meanwhile.
//
// Thread safety: the filler's and the pump's functions as above; Depth from any thread that may
// access the outbox.
// Lifetime: the message of a write stays in place until WriteDone, the Final until the outbox is
// destroyed. A stream is deleted only after its Finish, and not while one of its reactions runs
// (gRPC calls OnDone after both). So a filler may use it until PushFinal, and WriteDone may call
// Room() after it has given up the pump.
//
// Why it is correct. One atomic word, `state_`, has the bits starving, failed and final, and the
// field pending: the number of entries in the ring, including the final one.
//   Push   1. if pending == capacity: set starving, in the same compare-and-swap that finds it full
//          2. write the slot
//          3. pending + 1, acquire and release; if pending was 0, the caller is now the pump
//   Pop    1. empty the slot
//          2. pending - 1, acquire and release; in the same compare-and-swap, if starving and half
//             of the ring is free, clear starving and report room; if pending was 1, the caller has
//             given up the pump
//
// 1. The pump has one owner. There is a pump exactly while pending != 0: the change 0 -> 1 creates
//    it and the change 1 -> 0 ends it, and each is one atomic change by one thread. The final entry
//    is never popped, so there is no new pump after Finish. So Finish is called once, never during
//    a write, and last.
// 2. The ring is free of races. Only the filler adds entries, so a slot that it finds free stays
//    free; its read of pending acquires from the Pop that freed the slot. The pump reads a slot
//    after an acquiring change of the word that comes after the filler's releasing one. `head_`
//    belongs to the pump and `tail_` to the filler: the next pump acquires from the previous one's
//    Pop 2, the next filler from the previous one through their fan-out queue.
// 3. No wake-up is lost. Fullness and starving are in one word. When starving is set, the ring is
//    full, so at least one Pop is still to come, and the Pop that finds half of the ring free
//    clears the bit and reports. Clearing and reporting are one step, so each setting is reported
//    once. (After PushFinal, when no filler waits any more, the report may be missing.) Two
//    variables would need sequentially consistent order on both sides and a second check; the
//    modification order of one word gives more at less cost.
//    WaitForRoom sets starving in the same way, if there is at least one entry. Then, too, a Pop is
//    still to come; the last one at the latest finds half of the ring free, and the one that does
//    reports. If less than half of the ring is in use, that is the very next Pop: the filler then
//    checks its own limit again and may wait again. If there is no entry, WaitForRoom sets nothing
//    and returns false: only the filler adds entries, so none appears meanwhile, and the filler
//    sees everything that the Pops before did.
// 4. All this holds after a failure, too: each pump drops the messages one by one, so the count
//    ends at 0 or at the final entry. A message whose Push had not seen the failure yet is dropped
//    in the same way.
//
// Conflation (of job signals) is built on top, on the filler's side alone: the filler stores a
// number for what it sent last to a stream, and looks up what is still to be sent when there is
// room (control/job_board.h). So a waiting stream costs nothing while others are served.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace assay::lockfree {

enum class PushResult { kStartPump, kQueued, kFull, kClosed };

struct OutboxPlatform {
  template <class U>
  using Atomic = std::atomic<U>;
  template <class U>
  using Plain = U;
};

template <class Message, class Final, class Platform = OutboxPlatform>
class Outbox {
  static_assert(std::is_nothrow_move_assignable_v<Message> &&
                std::is_default_constructible_v<Message>);

 public:
  // REQUIRES: capacity, in messages, is a power of two and at most kCapacityMax.
  explicit Outbox(std::uint32_t capacity)
      : capacity_(capacity), slots_(std::make_unique<Message[]>(capacity)) {
    assert(capacity != 0 && capacity <= kCapacityMax && (capacity & (capacity - 1)) == 0);
  }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  static constexpr std::uint32_t kCapacityMax = 1u << 20;

  // --- The filler: one thread at a time, each sees what the previous one did. ---

  [[nodiscard]] PushResult Push(Message&& message) noexcept {
    std::uint32_t state = state_.load(std::memory_order_acquire);
    for (;;) {
      if ((state & (kFailed | kFinal)) != 0) return PushResult::kClosed;
      if (Pending(state) < capacity_) break;
      // Also if starving is set already: a successful swap proves that the ring is full now.
      if (state_.compare_exchange_weak(state, state | kStarving, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        return PushResult::kFull;
      }
    }
    slots_[tail_ & (capacity_ - 1)] = std::move(message);
    ++tail_;
    return Added(state_.fetch_add(kOne, std::memory_order_acq_rel));
  }

  // REQUIRES: PushFinal was not called.
  [[nodiscard]] bool WaitForRoom() noexcept {
    std::uint32_t state = state_.load(std::memory_order_acquire);
    do {
      if (Pending(state) == 0) return false;
    } while (!state_.compare_exchange_weak(state, state | kStarving, std::memory_order_acq_rel,
                                           std::memory_order_acquire));
    return true;
  }

  // For the filler only: what it finds free stays free.
  bool Full() const noexcept {
    return Pending(state_.load(std::memory_order_acquire)) == capacity_;
  }

  [[nodiscard]] PushResult PushFinal(Final&& final) noexcept {
    if ((state_.load(std::memory_order_relaxed) & kFinal) != 0) return PushResult::kClosed;
    final_.emplace(std::move(final));
    // After this addition the stream may be deleted at any moment, so only its result is used.
    return Added(state_.fetch_add(kOne | kFinal, std::memory_order_acq_rel));
  }

  // --- The pump: the thread that received kStartPump, then the one in WriteDone. ---

  // The caller must not use the stream afterwards.
  template <class Stream>
  void Pump(Stream* stream) {
    for (;;) {
      if (const Final* final = FrontFinal()) {
        stream->Finish(*final);
        return;
      }
      if (!failed_) {
        stream->Write(Front());
        return;
      }
      if (!PopFor(stream)) return;
    }
  }

  // For the reaction to the end of a write. The caller must not use the stream afterwards.
  template <class Stream>
  void WriteDone(bool ok, Stream* stream) {
    if (!ok) Fail();
    if (PopFor(stream)) Pump(stream);
  }

  // The steps of Pump and WriteDone.
  struct Popped {
    bool more;  // the caller is still the pump
    bool room;  // the filler waits for room: call Room()
  };

  // The final entry if it is the only one left, otherwise null.
  const Final* FrontFinal() const noexcept {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    assert(Pending(state) != 0);
    return (state & kFinal) != 0 && Pending(state) == 1 ? &*final_ : nullptr;
  }
  // REQUIRES: FrontFinal() is null.
  const Message& Front() const noexcept { return slots_[head_ & (capacity_ - 1)]; }
  // REQUIRES: FrontFinal() is null.
  [[nodiscard]] Popped Pop() noexcept {
    slots_[head_ & (capacity_ - 1)] = Message();
    ++head_;
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
      next = state - kOne;
      if (Pending(next) <= capacity_ / 2) next &= ~kStarving;
    } while (!state_.compare_exchange_weak(state, next, std::memory_order_acq_rel,
                                           std::memory_order_relaxed));
    return {Pending(next) != 0, ((state ^ next) & kStarving) != 0};
  }
  void Fail() noexcept {
    failed_ = true;
    state_.fetch_or(kFailed, std::memory_order_relaxed);
  }

  // A snapshot of the number of entries that wait or are being written.
  std::size_t Depth() const noexcept { return Pending(state_.load(std::memory_order_relaxed)); }

 private:
  static constexpr std::uint32_t kStarving = 1;
  static constexpr std::uint32_t kFailed = 2;
  static constexpr std::uint32_t kFinal = 4;
  static constexpr std::uint32_t kOne = 8;

  static std::uint32_t Pending(std::uint32_t state) noexcept { return state / kOne; }
  static PushResult Added(std::uint32_t before) noexcept {
    return Pending(before) == 0 ? PushResult::kStartPump : PushResult::kQueued;
  }

  template <class Stream>
  bool PopFor(Stream* stream) {
    const Popped popped = Pop();
    if (popped.room) stream->Room();
    return popped.more;
  }

  template <class U>
  using Plain = typename Platform::template Plain<U>;

  // Constant after construction.
  const std::uint32_t capacity_;
  const std::unique_ptr<Message[]> slots_;  // each slot has one owner: see 2 above
  // Owned by the filler.
  Plain<std::uint32_t> tail_{0};
  std::optional<Final> final_;  // owned by the pump once the entry is counted
  // Owned by the pump.
  Plain<std::uint32_t> head_{0};
  Plain<bool> failed_{false};
  // Hands entries and the pump from thread to thread; see above.
  typename Platform::template Atomic<std::uint32_t> state_{0};
};

}  // namespace assay::lockfree
