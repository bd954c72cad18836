// The fan-out of job signals: one queue, the board (job_board.h), and all who subscribed. The
// control loop posts one entry for each change, whoever listens; what it costs per subscriber is
// done here.
//
// A subscriber either is ready: it was given all there is, and gets each change at once. Or it
// waits: so much is on its way to it that no more is sent until its stream says that it has room
// (Room is but an id, and comes from gRPC's threads in no order with what the loop posts: of a
// stream that was ended it finds nothing). Then it is filled from its cursor. Nothing is kept for
// it meanwhile but, for a list, the snapshot whose pages it is still getting: pointers to signals.
//
// When the queue itself is long, because changes come faster than they can be written to all, the
// changes go onto the board alone and the ready ones are filled from it at the end: they are
// conflated, like those who wait, and the queue stays short. No change is passed over by that: see
// MayPutOff.
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

namespace assay {

struct SignalEntry {
  SignalPtr signal;
};
struct ForgetEntry {
  std::string job;
};
struct RoomEntry {
  StreamId id = 0;
};
// EndAllEntry also clears the board: what comes after it is the whole truth, told anew.
using BoardEntry = std::variant<std::monostate, SignalEntry, ForgetEntry, RoomEntry, AttachEntry,
                                EndEntry, EndAllEntry>;

class BoardFanout final : public FanoutQueue<BoardEntry>, public RoomListener {
 public:
  // encoder: outlives it.
  BoardFanout(Ready* ready, const Encoder* encoder) : FanoutQueue(ready), encoder_(*encoder) {}

  void StreamHasRoom(StreamId stream) override { Post(RoomEntry{stream}); }

 private:
  static constexpr std::size_t kWaits = static_cast<std::size_t>(-1);
  struct Subscriber {
    StreamId id = 0;
    StreamPort* stream = nullptr;
    Topic topic = Topic::kSignal;
    std::uint64_t attached_at = 0;  // the last change before it came
    std::uint64_t cursor = 0;       // the last change that it was given
    // Of a list, until all its pages are sent.
    JobBoard::SnapshotPtr snapshot;
    std::size_t sent = 0;  // signals of it
    Ms report_time = 0;
    std::size_t place = kWaits;  // in ready_
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
  // Sends until there is nothing more, true, or no room.
  bool Fill(Subscriber* subscriber);
  bool FillPages(Subscriber* subscriber);
  void FillAndPlace(Subscriber* subscriber);
  void Park(Subscriber* subscriber);
  void End(StreamId id, const Status& status);

  EncodedMessage Single(const SignalPtr& signal);
  const EncodedMessage& Single(JobBoard::Item* item);
  const EncodedMessage& ListOfOne(JobBoard::Item* item);

  const Encoder& encoder_;
  JobBoard board_;
  UuidSeries uuids_;                                      // of its signals
  std::unordered_map<StreamId, Subscriber> subscribers_;  // node-based: pointers stay right
  std::vector<Subscriber*> ready_;
  bool behind_ = false;  // some of ready_ may not have been given all
};

}  // namespace assay
