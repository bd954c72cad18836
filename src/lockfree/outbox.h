// Outbox<Message, Final>: what is still to be written to one stream. A bounded ring between the one
// thread that fills it (a fan-out worker, at that moment) and the write pump, of which there is one
// at a time and which moves from thread to thread. One write is in flight, no lock, and the end of
// the stream is an entry as well.
//
//   class Subscriber : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
//     void OnWriteDone(bool ok) override { outbox_.WriteDone(ok, this); }
//     // The three things the pump asks of a stream:
//     void Write(const grpc::ByteBuffer& m) { StartWrite(&m); }
//     void Finish(const grpc::Status& s) { ServerWriteReactor::Finish(s); }
//     void Room() { fanout_->Post(RoomEntry{id_}); }
//   };
//   // The filler, inside FanoutQueue::Handle:
//   switch (outbox->Push(std::move(bytes))) {
//     case PushResult::kStartPump: outbox->Pump(stream); break;
//     ...
//
// The filler:
//   Push       kQueued: the pump will come to it. kStartPump: the caller has become the pump and
//              must call Pump. kFull: not taken; Room() will be called, once, when at least half of
//              the ring is free. kClosed: not taken, a write failed or the end was pushed.
//              A message that was not taken is untouched.
//   WaitForRoom  for a filler that has a reason of its own to stop (so many bytes are on their way,
//              say). True: as after kFull, Room() will be called once. False: nothing is in the
//              ring, so nothing would call it; there is all the room there can be.
//   PushFinal  always fits, once (a place of its own); again: kClosed. Before it the filler strikes
//              the stream from its lists, after it (and the Pump it may ask for) it forgets it:
//              the stream may be gone before PushFinal returns.
// The pump:
//   Pump       writes the front entry. Write and Finish are its last access to the stream, because
//              the next thread may be in WriteDone, or the stream be deleted, before they return.
//   WriteDone  the previous write is over: drops it, says Room() if asked to, writes the next.
//   After
//              a failed write the messages left are dropped, and only the final entry comes out.
//
// Room() runs on the pump's thread and must only post (an id, not a pointer: the filler may have
// let go of the stream meanwhile). The message of a write stays where it is until WriteDone, the
// Final until the outbox is destroyed.
//
// Lifetime: a stream dies only after its Finish, and not while one of its reactions runs (gRPC
// calls OnDone after both). So a filler may touch it until PushFinal, and WriteDone may say Room()
// after it has given the pump up.
//
// How it holds together. One atomic word, `state_`: starving, failed, final (a bit each) and
// pending, the number of entries in the ring, the final one included.
//   Push   1. pending == capacity? set starving, in the same compare-and-swap that finds it full
//          2. write the slot   3. pending + 1, acquire and release; was it 0? then this is the pump
//   Pop    1. empty the slot   2. pending - 1, acquire and release, and in the same
//   compare-and-swap:
//          starving and half empty? clear it and report room. Was it 1? then the pump is given up
//
// 1. One owner of the pump. There is a pump exactly while pending != 0: the move 0 -> 1 makes one,
//    the move 1 -> 0 ends it, and each belongs to one atomic change that one thread made. The final
//    entry is never popped, so after Finish there is never a pump again. So Finish comes once,
//    never beside a write, and last.
// 2. The ring is sound. Only the filler adds, so what it finds free stays free; its read of pending
//    acquires from the Pop that freed the slot. The pump reads a slot after an acquiring change of
//    the word that comes after the filler's releasing one. `head_` belongs to the pump, `tail_` to
//    the filler: the next pump acquires from the last one's Pop 2, the next filler from the last
//    one through their fan-out queue.
// 3. No lost wake-up. Fullness and starving are one word: at the moment starving is set the ring is
//    full, so at least one Pop is still to come, and the one that finds half of it free clears the
//    bit and reports. Cleared and reported are one step, so each setting is reported once. (After
//    PushFinal, when nobody asks any more, the report may be missing.) (Two
//    variables would need sequentially consistent order on both sides and a second look; the order
//    of changes of one word gives more for less.)
//    WaitForRoom sets starving the same way, where there is at least one entry: then, too, a Pop is
//    still to come, the last one at the latest finds half of the ring free, and whichever does
//    reports. With less than half of it in use that is the very next one: the filler looks again at
//    what it waits for, and may wait again. Where there is no entry it sets nothing and says so;
//    only the filler adds, so none comes by itself, and it sees all that the Pops before it did.
// 4. After a failure, too: whoever becomes the pump drops the messages one by one, so the count
// ends
//    at 0 or at the final entry. A Push that has not yet seen the failure is dropped the same way.
//
// Conflation (job signals) goes on top, on the filler's side alone: what a stream was given last is
// a number, and what it is still to get is looked up when there is room (coordinator/job_board.h).
// So a stream that waits costs nothing while others are served.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace assay {

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

  // --- The filler's side: one thread at a time, each seeing what the last one did. ---

  [[nodiscard]] PushResult Push(Message&& message) noexcept {
    std::uint32_t state = state_.load(std::memory_order_acquire);
    for (;;) {
      if ((state & (kFailed | kFinal)) != 0) return PushResult::kClosed;
      if (Pending(state) < capacity_) break;
      // Also when starving is set already: the swap proves that the ring is full now.
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

  // The filler's alone: what it finds free stays free.
  bool Full() const noexcept {
    return Pending(state_.load(std::memory_order_acquire)) == capacity_;
  }

  [[nodiscard]] PushResult PushFinal(Final&& final) noexcept {
    if ((state_.load(std::memory_order_relaxed) & kFinal) != 0) return PushResult::kClosed;
    final_.emplace(std::move(final));
    // From here on the stream may end at any moment: nothing but the returned word is touched.
    return Added(state_.fetch_add(kOne | kFinal, std::memory_order_acq_rel));
  }

  // --- The pump's side: the thread that got kStartPump, then the one in WriteDone. ---

  // The last thing its caller does with the stream.
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

  // As Pump; for the reaction to the end of a write.
  template <class Stream>
  void WriteDone(bool ok, Stream* stream) {
    if (!ok) Fail();
    if (PopFor(stream)) Pump(stream);
  }

  // The steps of which Pump and WriteDone are made.
  struct Popped {
    bool more;  // the caller is still the pump
    bool room;  // the filler was refused and is to be told that there is room
  };

  // The final entry if it is all that is left, else null.
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

  // Entries that wait or are being written; a snapshot for any thread that may touch the outbox.
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
  const std::unique_ptr<Message[]> slots_;  // each one's owner: see above, 2
  // The filler's.
  Plain<std::uint32_t> tail_{0};
  std::optional<Final> final_;  // the pump's, once it is counted
  // The pump's.
  Plain<std::uint32_t> head_{0};
  Plain<bool> failed_{false};
  // The hand-over of both; see above.
  typename Platform::template Atomic<std::uint32_t> state_{0};
};

}  // namespace assay
