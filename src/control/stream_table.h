// The control loop's registries of subscribers' streams, jobs' fan-out queues and agents' links.
//
// They order items that arrive unordered: the mailbox is FIFO per posting thread only, and gRPC
// runs one stream's reactions on several threads. The core gets, for each stream, opened and then
// closed, each once; for each link, its messages and then closed, once; and no closed for a stream
// or link that it does not have.
//
// An entry exists from the first item about its id until the last: opened and done have arrived,
// and closed too if done reports that one was posted.
//
// Thread safety: none; the control loop owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/fanout.h"
#include "control/inbound.h"

namespace assay::control {

class StreamTable {
 public:
  explicit StreamTable(Fanout* fanout) : fanout_(fanout) {}

  // --- Items from the mailbox ---

  void Opened(core::StreamId id, StreamPort* stream, core::Topic topic);
  // True: its closed arrived before its opened.
  bool ClosedEarly(core::StreamId id) const;
  // The StreamOpened was passed to the core.
  void Told(core::StreamId id) { streams_[id].told = true; }
  // Closed, Done: true if the caller must pass a StreamClosed to the core.
  bool Closed(core::StreamId id);
  bool Done(core::StreamId id, bool close_posted);

  // --- Effects of the core ---

  void Attach(const core::AttachStream& effect);
  void Notify(const core::PublishNotify& effect);
  void Result(const core::PublishResult& effect);
  void Replay(const core::ReplayResult& effect);
  void Signal(core::PublishSignal&& effect);
  void Forget(core::ForgetDeleted&& effect);
  // No effect if the stream was already ended.
  void End(core::StreamId id, const base::Status& status);
  // Ends every stream, clears the board of job signals, and resets which streams the core has: the
  // caller discards the core.
  void EndAll(const base::Status& status);

 private:
  struct JobQueue {
    std::shared_ptr<JobFanout> queue;
    std::size_t streams = 0;    // attached and not done
    std::uint64_t results = 0;  // published; each ends the result streams attached before it
  };
  using Jobs = std::unordered_map<std::string, JobQueue>;
  struct Stream {
    StreamPort* stream = nullptr;  // null: not opened yet
    core::Topic topic = core::Topic::kNotify;
    Jobs::value_type* job = nullptr;  // the job it is attached to
    bool on_board = false;            // or: attached to the board of job signals
    std::uint64_t results = 0;        // JobQueue::results when it was attached
    bool told = false;                // the core has it
    bool ended = false;
    bool closed = false;
    bool done = false;
    bool close_posted = false;
  };

  static bool Ended(const Stream& stream);
  void ForgetIfOver(core::StreamId id, const Stream& stream);
  static bool Attached(const Stream& stream) { return stream.job != nullptr || stream.on_board; }
  void End(core::StreamId id, Stream* stream, const std::shared_ptr<const base::Status>& status);

  Fanout* const fanout_;
  Jobs jobs_;  // node-based: Stream::job stays valid
  std::unordered_map<core::StreamId, Stream> streams_;
};

class LinkTable {
 public:
  explicit LinkTable(Fanout* fanout) : fanout_(fanout) {}

  // --- Items from the mailbox ---

  void Opened(core::LinkId id, LinkPort* link);
  // True: its closed arrived before its opened.
  bool ClosedEarly(core::LinkId id) const;
  // A message of the link arrived. True: the caller must pass it to the core.
  bool Said(core::LinkId id);
  // Closed, Done: true if the caller must pass a LinkClosed to the core. why: the reason of the
  // end, or null.
  bool Closed(core::LinkId id, std::unique_ptr<base::Status> why);
  bool Done(core::LinkId id, bool close_posted);
  // Like Closed, but found by the loop itself: the closed that was or will be posted is still
  // expected.
  bool Lost(core::LinkId id, std::unique_ptr<base::Status> why);

  // --- Effects of the core and calls of the loop ---

  void Send(core::ToAgent&& effect);
  // No effect if the link was already ended. A link that was closed for a reason (Closed, Lost) is
  // ended with that reason instead of `status`.
  void End(core::LinkId id, const base::Status& status);
  void EndAll(const base::Status& status);
  // Reads the link's next message: its previous one was consumed. No effect on an ended link.
  void ReadNext(core::LinkId id);
  // Open links whose agents sent nothing for longer than `limit`. REQUIRES: limit > 0.
  std::vector<core::LinkId> Silent(core::Ms limit) const;
  std::vector<core::LinkId> Open() const;

 private:
  struct Link {
    LinkPort* link = nullptr;  // null: not opened yet
    bool told = false;         // the core has it
    bool ended = false;
    bool lost = false;
    bool closed = false;
    bool done = false;
    bool close_posted = false;
    std::unique_ptr<base::Status> why;
  };

  void ForgetIfOver(core::LinkId id, const Link& link);
  void End(core::LinkId id, Link* link, const std::shared_ptr<const base::Status>& status);

  Fanout* const fanout_;
  std::unordered_map<core::LinkId, Link> links_;
};

}  // namespace assay::control
