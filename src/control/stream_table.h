// The control loop's books of who is connected: streams of subscribers, jobs' fan-out queues,
// agents' links. They make one order out of what arrives in none (the mailbox is FIFO per thread
// only, and gRPC runs one stream's reactions on several): the core hears of each stream opened,
// then closed, of each link what it said, then closed, each once; and nothing of what it has never
// heard of.
//
// An entry lives from the first word about its id to the last: opened, done, and the close if done
// says that one was posted.
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

namespace assay {

class StreamTable {
 public:
  explicit StreamTable(Fanout* fanout) : fanout_(fanout) {}

  // --- What arrives ---

  void Opened(StreamId id, StreamPort* stream, Topic topic);
  // Did its client leave before it was opened here?
  bool ClosedEarly(StreamId id) const;
  // The core was told that it is open.
  void Told(StreamId id) { streams_[id].told = true; }
  // True: the core is to be told that it is closed.
  bool Closed(StreamId id);
  bool Done(StreamId id, bool close_posted);

  // --- What the core wants ---

  void Attach(const AttachStream& effect);
  void Notify(const PublishNotify& effect);
  void Result(const PublishResult& effect);
  void Replay(const ReplayResult& effect);
  void Signal(PublishSignal&& effect);
  void Forget(ForgetDeleted&& effect);
  // Nothing when it was ended before.
  void End(StreamId id, const Status& status);
  // And forgets what the core was told: it is thrown away. So is the board of job signals.
  void EndAll(const Status& status);

 private:
  struct JobQueue {
    std::shared_ptr<JobFanout> queue;
    std::size_t streams = 0;    // attached and not done
    std::uint64_t results = 0;  // published; each ends the result streams attached before it
  };
  using Jobs = std::unordered_map<std::string, JobQueue>;
  struct Stream {
    StreamPort* stream = nullptr;  // null: not opened yet
    Topic topic = Topic::kNotify;
    Jobs::value_type* job = nullptr;  // where it is attached
    bool on_board = false;            // or there: it hears of job signals
    std::uint64_t results = 0;        // of its job when it was attached
    bool told = false;                // the core knows it
    bool ended = false;
    bool closed = false;
    bool done = false;
    bool close_posted = false;
  };

  static bool Ended(const Stream& stream);
  void ForgetIfOver(StreamId id, const Stream& stream);
  static bool Attached(const Stream& stream) { return stream.job != nullptr || stream.on_board; }
  void End(StreamId id, Stream* stream, const std::shared_ptr<const Status>& status);

  Fanout* const fanout_;
  Jobs jobs_;  // node-based: a Stream's pointer stays right
  std::unordered_map<StreamId, Stream> streams_;
};

class LinkTable {
 public:
  explicit LinkTable(Fanout* fanout) : fanout_(fanout) {}

  // --- What arrives ---

  void Opened(LinkId id, LinkPort* link);
  // Did its agent leave before it was opened here?
  bool ClosedEarly(LinkId id) const;
  // True: the core is to be told what it said.
  bool Said(LinkId id);
  // why: null or the reason of the end. True: the core is to be told that it is closed.
  bool Closed(LinkId id, std::unique_ptr<Status> why);
  bool Done(LinkId id, bool close_posted);
  // The same as Closed, found out by the loop: it counts for nothing that is still to arrive.
  bool Lost(LinkId id, std::unique_ptr<Status> why);

  // --- What the core wants, and the loop ---

  void Send(ToAgent&& effect);
  // Nothing when it was ended before. A closed link is ended for the reason it was closed for.
  void End(LinkId id, const Status& status);
  void EndAll(const Status& status);
  // Its message was consumed; nothing when it is ended.
  void ReadNext(LinkId id);
  // Links that are open, of which nothing was heard for so long. REQUIRES of limit: positive.
  std::vector<LinkId> Silent(Ms limit) const;
  std::vector<LinkId> Open() const;

 private:
  struct Link {
    LinkPort* link = nullptr;  // null: not opened yet
    bool told = false;         // the core knows it
    bool ended = false;
    bool lost = false;
    bool closed = false;
    bool done = false;
    bool close_posted = false;
    std::unique_ptr<Status> why;
  };

  void ForgetIfOver(LinkId id, const Link& link);
  void End(LinkId id, Link* link, const std::shared_ptr<const Status>& status);

  Fanout* const fanout_;
  std::unordered_map<LinkId, Link> links_;
};

}  // namespace assay
