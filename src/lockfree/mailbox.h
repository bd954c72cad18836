// Mailbox<T>: many threads post, one thread takes in batches. The way into the control loop and
// into the agent's loop.
//
//   Mailbox<Event> mailbox;
//   mailbox.Post(std::move(event));              // any thread
//   while (!mailbox.Drained()) {                 // the one consumer
//     mailbox.Wait(timeout_ms);                  // or wake_fd() in an epoll or poll set
//     batch.clear();
//     mailbox.Drain(&batch, 256);
//     ...
//   }
//
// Order: what one thread posts, or one Producer, comes out in that order. Between threads there is
// none, even if one post happened long after the other: gRPC runs one stream's reactions on
// several threads, so a stream has one message in flight or posts through a Producer of its own.
//
// Thread safety: Post, Close and Depth from any thread. Wait, Drain and Drained from one consumer.
// A Producer: one thread at a time. Destroy the mailbox when nobody posts any more (a Post that has
// returned, and no other, is over) and after its Producers.
//
// How it holds together. One atomic word, `state_`, has three fields: closed (1 bit), posting (31
// bits: threads inside Post), count (32 bits: items that may be taken).
//   Post   1. state: posting + 1, acquire. Closed? Then leave again and refuse; the item is
//   untouched.
//          2. put the item into the queue
//          3. state: posting - 1, count + 1, release. The count was 0 (or it is closed)? Signal.
//   Drain  1. clear the event    2. n = min(count, max), acquire    3. take n from the queue
//          4. state: count - n, release. Something is left? Signal.
//
// 1. Nothing is taken before it is counted. An item is visible (Post 2) before it is counted (3),
// so
//    Drain takes at most `count` items. The items counted at Drain 2 were put in before (the read
//    is in the release sequence of each Post 3), so there are n to be had. If it takes an item of a
//    thread that has yet to count it, another's counted item stays in its place, and is counted
//    when that thread arrives at 3: late by one pre-emption, never lost.
// 2. No lost wake-up. Outside Drain: count != 0 implies that the event is signalled or a poster is
//    between 3 and its Signal. True after the move 0 -> 1; kept by Drain, whose last step signals
//    again if it leaves something; a signal that Drain 1 took away came after its poster's step 3,
//    so Drain 2 sees that item. A signal without an item is possible and harmless.
// 3. Close is exact. Posts that pass step 1 before Close are taken; later ones are refused. Drained
//    is (closed, posting 0, count 0): every accepted item was taken and none can follow. Whoever
//    leaves Post after Close signals, so a consumer that waits for Drained wakes.
// 4. Nobody waits for anybody: Post is two atomic additions, one enqueue and, on the move from
//    zero, one write to an eventfd. (The queue itself makes a thread wait only while it grows the
//    table of producing threads, on that thread's first post.)
//
// It is unbounded: what is posted is bounded where it comes from (one message in flight per stream,
// calls answered before the next). Depth() is for monitoring.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "lockfree/queue.h"
#include "lockfree/wake_event.h"

namespace assay {

template <class Traits = LargeQueueTraits>
struct MailboxPlatform {
  template <class U>
  using Atomic = std::atomic<U>;
  template <class U>
  using Queue = moodycamel::ConcurrentQueue<U, Traits>;
  using Token = moodycamel::ProducerToken;
  using Event = WakeEvent;
};

template <class T, class Platform = MailboxPlatform<>>
class Mailbox {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>,
                "an item moves once per hop and a throwing move would lose it: keep it small, with "
                "its body behind a unique_ptr");

 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // False when closed; the item is then untouched. Never blocks and never runs anything.
  [[nodiscard]] bool Post(T&& item) noexcept {
    return PostThrough([&] { queue_.enqueue(std::move(item)); });
  }

  // A producer of its own, whatever thread posts: keeps the order of a stream whose reactions run
  // on several threads one after the other. Costs the consumer a look per Producer and Drain, so
  // one per busy stream, not one per idle stream in thousands.
  class Producer {
   public:
    explicit Producer(Mailbox* mailbox) : mailbox_(mailbox), token_(mailbox->queue_) {}
    [[nodiscard]] bool Post(T&& item) noexcept {
      return mailbox_->PostThrough([&] { mailbox_->queue_.enqueue(token_, std::move(item)); });
    }

   private:
    Mailbox* const mailbox_;
    typename Platform::Token token_;
  };

  // Takes up to max items, appends them to *out and says how many. What is over max is left and
  // keeps wake_fd() readable.
  std::size_t Drain(std::vector<T>* out, std::size_t max) {
    event_.Clear();
    const std::size_t wanted = std::min(CountOf(state_.load(std::memory_order_acquire)), max);
    std::size_t taken = 0;
    if (wanted != 0) {
      out->reserve(out->size() + wanted);
      taken = queue_.try_dequeue_bulk(std::back_inserter(*out), wanted);
    }
    const std::uint64_t before = state_.fetch_sub(taken, std::memory_order_release);
    if (CountOf(before) != taken) event_.Signal();
    return taken;
  }

  // True as soon as there is something to take, or all is drained; false after timeout_ms
  // (negative: without end). Only for a consumer that has no poll set of its own.
  bool Wait(int timeout_ms) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
    int left_ms = timeout_ms;
    while (!HasNews()) {
      if (!event_.WaitFor(left_ms)) return HasNews();
      if (HasNews()) return true;
      // Signalled for nothing: take the signal away, and look again as in Drain.
      event_.Clear();
      if (HasNews()) event_.Signal();
      if (timeout_ms >= 0) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        left_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
      }
    }
    return true;
  }

  // Refuses every later Post and wakes the consumer. What was accepted before can still be taken.
  void Close() noexcept {
    state_.fetch_or(kClosed, std::memory_order_acq_rel);
    event_.Signal();
  }

  // Closed, and every accepted item taken: nothing will ever come again. To be asked after a Drain,
  // which may have taken the signal of Close away.
  bool Drained() const noexcept { return state_.load(std::memory_order_acquire) == kClosed; }

  // Readable when there may be something to take, and on Close.
  int wake_fd() const noexcept { return event_.fd(); }

  // Items that wait. Exact for the consumer when nobody posts, a snapshot otherwise.
  std::size_t Depth() const noexcept { return CountOf(state_.load(std::memory_order_relaxed)); }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kPosting = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kCounted = 1;

  static std::size_t CountOf(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state);
  }

  bool HasNews() const noexcept {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    return CountOf(state) != 0 || state == kClosed;
  }

  template <class Enqueue>
  bool PostThrough(Enqueue enqueue) noexcept {
    if ((state_.fetch_add(kPosting, std::memory_order_acquire) & kClosed) != 0) {
      state_.fetch_sub(kPosting, std::memory_order_release);
      event_.Signal();
      return false;
    }
    enqueue();
    // One addition for both fields: no borrow can pass between them, posting is at least 1.
    const std::uint64_t before = state_.fetch_sub(kPosting - kCounted, std::memory_order_release);
    if (CountOf(before) == 0 || (before & kClosed) != 0) event_.Signal();
    return true;
  }

  // The posters' hand-over to the consumer; see above.
  typename Platform::template Atomic<std::uint64_t> state_{0};
  typename Platform::template Queue<T> queue_{0};
  typename Platform::Event event_;
};

}  // namespace assay
