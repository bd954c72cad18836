// The fan-out of job signals: one queue, the board (job_board.h) and all subscribers.
//
// The control loop posts one entry per change, however many subscribers there are. The work per
// subscriber is done here, by the fan-out workers.
//
// A subscriber is in one of two states:
//   ready    it has been sent everything on the board and gets each change at once
//   waiting  so much is unwritten in its stream that nothing more is sent until the stream reports
//            room (RoomEntry). Then it is filled from its cursor. Nothing is stored for it in the
//            meantime, except for a list: the snapshot whose pages are not all sent (pointers to
//            signals).
// A RoomEntry carries only an id. gRPC's threads post it, unordered with the loop's entries, so it
// may name a stream that was ended; it is then ignored.
//
// When the queue itself is long, because changes arrive faster than they can be written to all
// subscribers, changes are only applied to the board, and the ready subscribers are filled from it
// at the end. Their changes are conflated, as for waiting subscribers, and the queue stays short.
// No change is lost by that: see MayPutOff.
//
// Thread safety: Post and StreamHasRoom from any thread; the rest runs in Handle, one thread at a
// time (fanout_queue.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/uuid.h"
#include "control/job_board.h"
#include "control/ports.h"
#include "control/stream_entries.h"
#include "core/signal.h"
#include "lockfree/fanout_queue.h"

namespace assay::control {

struct SignalEntry {
  core::SignalPtr signal;
};
struct ForgetEntry {
  std::string job;
};
struct RoomEntry {
  core::StreamId id = 0;
};
// EndAllEntry also clears the board: the entries after it describe the whole state again.
using BoardEntry = std::variant<std::monostate, SignalEntry, ForgetEntry, RoomEntry, AttachEntry,
                                EndEntry, EndAllEntry>;

class BoardFanout final : public lockfree::FanoutQueue<BoardEntry>, public RoomListener {
 public:
  // encoder: outlives this object.
  BoardFanout(Ready* ready, const Encoder* encoder) : FanoutQueue(ready), encoder_(*encoder) {}

  void StreamHasRoom(core::StreamId stream) override { Post(RoomEntry{stream}); }

 private:
  static constexpr std::size_t kWaits = static_cast<std::size_t>(-1);
  struct Subscriber {
    core::StreamId id = 0;
    StreamPort* stream = nullptr;
    core::Topic topic = core::Topic::kSignal;
    std::uint64_t attached_at = 0;   // the last change before it attached
    std::uint64_t cursor = 0;        // the last change sent to it
    JobBoard::SnapshotPtr snapshot;  // lists only: set until all pages are sent
    std::size_t sent = 0;            // signals of `snapshot` that are sent
    core::Ms report_time = 0;
    std::size_t place = kWaits;  // index in ready_; kWaits: waiting
  };

  void Handle(BoardEntry&& entry) override;
  void On(const SignalEntry& entry);
  void On(const ForgetEntry& entry);
  void On(const RoomEntry& entry);
  void On(const AttachEntry& entry);
  void On(const EndEntry& entry);
  void On(const EndAllEntry& entry);
  void On(const std::monostate&) {}

  bool MayPutOff() const;
  void Flush();
  // Sends what the subscriber lacks. True: it has everything; false: its stream has no room.
  bool Fill(Subscriber* subscriber);
  bool FillPages(Subscriber* subscriber);
  void FillAndPlace(Subscriber* subscriber);
  void Park(Subscriber* subscriber);
  void End(core::StreamId id, const base::Status& status);

  EncodedMessage Single(const core::SignalPtr& signal);
  const EncodedMessage& Single(JobBoard::Item* item);
  const EncodedMessage& ListOfOne(JobBoard::Item* item);

  const Encoder& encoder_;
  JobBoard board_;
  base::UuidSeries uuids_;                                      // of the board's signals
  std::unordered_map<core::StreamId, Subscriber> subscribers_;  // node-based: pointers stay valid
  std::vector<Subscriber*> ready_;
  bool behind_ = false;  // some of ready_ may lack changes that are on the board
};

}  // namespace assay::control
