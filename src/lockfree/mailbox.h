// Mailbox<T>: many threads post items, and one thread takes them in batches. It is the input of the
// control loop and of the agent's loop.
//
//   Mailbox<Event> mailbox;
//   mailbox.Post(std::move(event));              // any thread
//   while (!mailbox.Drained()) {                 // the single consumer
//     mailbox.Wait(timeout_ms);                  // or wake_fd() in an epoll or poll set
//     batch.clear();
//     mailbox.Drain(&batch, 256);
//     ...
//   }
//
// Order: items of one thread, or of one Producer, come out in the order of their posts. There is no
// order between threads, even if one post happened long after the other. gRPC runs one stream's
// reactions on several threads, so a stream has one message in flight or posts through a Producer
// of its own.
//
// Thread safety: Post, Close and Depth from any thread. Wait, Drain and Drained from one consumer.
// A Producer: one thread at a time.
// Lifetime: destroy the mailbox after its Producers and after the last Post has returned.
// Bounds: none. The sources bound what is posted (one message in flight per stream, calls answered
// before the next). Depth() is for monitoring.
//
// Why it is correct. One atomic word, `state_`, has three fields: closed (1 bit), posting (31 bits:
// threads inside Post), count (32 bits: items that may be taken).
//   Post   1. state: posting + 1, acquire. If closed: undo that, signal and refuse; the item is
//             untouched.
//          2. enqueue the item
//          3. state: posting - 1, count + 1, release. If the count was 0, or if closed: signal.
//   Drain  1. clear the event
//          2. n = min(count, max), acquire
//          3. dequeue n items
//          4. state: count - n, release. If items are left: signal.
//
// 1. No item is taken unless it, or another in its place, is counted. An item is visible (Post 2)
//    before it is counted (Post 3), so Drain takes at most `count` items. The items counted at
//    Drain 2 were enqueued before (the read is in the release sequence of each Post 3), so n items
//    can be dequeued. If Drain takes an item that its thread has not counted yet, a counted item of
//    another thread stays in the queue instead, and becomes available when the first thread reaches
//    Post 3: late by one pre-emption, never lost.
// 2. No wake-up is lost. Outside Drain, count != 0 implies that the event is signalled or that a
//    poster is between Post 3 and its Signal. The change 0 -> 1 establishes this. Drain preserves
//    it: its last step signals again if items are left, and a signal that Drain 1 consumed came
//    after its poster's step 3, so Drain 2 sees that item. A signal without an item is possible and
//    harmless.
// 3. Close is exact. Posts that pass step 1 before Close are accepted; later ones are refused.
//    Drained() is (closed, posting 0, count 0): every accepted item was taken and none can follow.
//    Every thread that leaves Post after Close signals, so a consumer that waits for Drained wakes.
// 4. No thread waits for another. Post is two atomic additions, one enqueue and, on the change from
//    zero, one write to an eventfd. (The queue itself makes a thread wait only while it grows the
//    table of producing threads, on that thread's first post.)
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

namespace assay::lockfree {

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

  // False if closed; the item is then untouched. Never blocks and never calls back.
  [[nodiscard]] bool Post(T&& item) noexcept {
    return PostThrough([&] { queue_.enqueue(std::move(item)); });
  }

  // A separate producer that several threads may use one after the other: it preserves the order of
  // a stream whose reactions run on several threads. Each Drain checks every Producer, so create
  // one per busy stream, not one for each of thousands of idle streams.
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

  // Takes up to max items, appends them to *out and returns their number. Items beyond max stay in
  // the mailbox and keep wake_fd() readable.
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

  // True as soon as an item can be taken or Drained() holds; false after timeout_ms (negative: no
  // timeout). For a consumer without a poll set of its own.
  bool Wait(int timeout_ms) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
    int left_ms = timeout_ms;
    while (!HasNews()) {
      if (!event_.WaitFor(left_ms)) return HasNews();
      if (HasNews()) return true;
      // Signalled without an item: clear the event and check again, as in Drain.
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

  // Refuses every later Post and wakes the consumer. Items accepted before can still be taken.
  void Close() noexcept {
    state_.fetch_or(kClosed, std::memory_order_acq_rel);
    event_.Signal();
  }

  // True if the mailbox is closed and every accepted item was taken: no item can follow. Check it
  // after each Drain, which may have consumed the signal of Close.
  bool Drained() const noexcept { return state_.load(std::memory_order_acquire) == kClosed; }

  // Readable when an item may be available, and on Close.
  int wake_fd() const noexcept { return event_.fd(); }

  // The number of waiting items. A snapshot; exact for the consumer while no thread posts.
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
    // One subtraction changes both fields: posting - 1, count + 1. posting is at least 1, so no
    // borrow reaches the closed bit.
    const std::uint64_t before = state_.fetch_sub(kPosting - kCounted, std::memory_order_release);
    if (CountOf(before) == 0 || (before & kClosed) != 0) event_.Signal();
    return true;
  }

  // Hands the items from the posters to the consumer; see above.
  typename Platform::template Atomic<std::uint64_t> state_{0};
  typename Platform::template Queue<T> queue_{0};
  typename Platform::Event event_;
};

}  // namespace assay::lockfree
