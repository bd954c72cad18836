// The control loop's tables of subscribers' streams, with the jobs' fan-out queues, and of agents'
// links. port_table.h has the life cycle that both share.
//
// Thread safety: none; the control loop owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/fanout.h"
#include "control/port_table.h"

namespace assay::control {

struct JobQueue {
  std::shared_ptr<JobFanout> queue;
  std::size_t streams = 0;    // attached and not done
  std::uint64_t results = 0;  // published; each ends the result streams attached before it
};

struct OpenStream : PortLife<StreamPort> {
  using Jobs = std::unordered_map<std::string, JobQueue>;  // node-based: `job` stays valid

  core::Topic topic = core::Topic::kNotify;
  Jobs::value_type* job = nullptr;  // the job it is attached to
  bool on_board = false;            // or: attached to the board of job signals
  std::uint64_t results = 0;        // JobQueue::results when it was attached
};

class StreamTable : public PortTable<StreamPort, OpenStream> {
 public:
  explicit StreamTable(Fanout* fanout) : fanout_(fanout) {}

  // --- Items from the mailbox: see PortTable ---

  bool Opened(core::StreamId id, StreamPort* stream, core::Topic topic);
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
  static bool Attached(const OpenStream& entry) { return entry.job != nullptr || entry.on_board; }
  void End(core::StreamId id, OpenStream* entry, const std::shared_ptr<const base::Status>& status);

  Fanout* const fanout_;
  OpenStream::Jobs jobs_;
};

struct AttachedLink : PortLife<LinkPort> {
  bool lost = false;                  // the loop itself found that it must end
  std::unique_ptr<base::Status> why;  // the reason of the end; null: none is known
};

class LinkTable : public PortTable<LinkPort, AttachedLink> {
 public:
  explicit LinkTable(Fanout* fanout) : fanout_(fanout) {}

  // --- Items from the mailbox: see PortTable ---

  // A message of the link arrived. True: the caller must pass it to the core.
  bool AcceptMessage(core::LinkId id);
  // why: the reason of the end, or null.
  bool Closed(core::LinkId id, std::unique_ptr<base::Status> why);
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
  void End(core::LinkId id, AttachedLink* entry, const std::shared_ptr<const base::Status>& status);

  Fanout* const fanout_;
};

}  // namespace assay::control
