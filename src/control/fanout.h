// The fan-out queues: the control loop posts what it sends to streams and agents as entries of
// lock-free queues; fan-out workers serialise each message once and push the bytes into the
// streams' outboxes.
//
// Ownership: the loop may touch a stream or link until it hands it to a queue (AttachEntry,
// EndDetachedEntry, ReplayEntry, the first entry of a link). From then on only that queue's handler
// may, until it ends the stream or link. Later entries name an attached stream by id, so an entry
// for a stream that was already ended is ignored.
//
// Order: the loop posts all of these entries, so those of one queue are handled in the order in
// which it posted them. (Only RoomEntry comes from other threads: board_fanout.h.) Two queues are
// not ordered with each other; each stream is served by one queue only, each link by its shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "control/board_fanout.h"
#include "control/ports.h"
#include "control/stream_entries.h"
#include "core/effect.h"
#include "lockfree/fanout_pool.h"
#include "lockfree/fanout_queue.h"

namespace assay::control {

// --- One job's listeners ---

struct NotifyEntry {
  std::shared_ptr<const std::vector<core::RankOps>> ranks;
};
// Sent to all result listeners, each of which is then ended.
struct ResultEntry {
  core::RunId run = core::kNoRun;
  std::shared_ptr<const std::string> message;
};
using JobEntry =
    std::variant<std::monostate, AttachEntry, NotifyEntry, ResultEntry, EndEntry, EndAllEntry>;

class JobFanout final : public lockfree::FanoutQueue<JobEntry> {
 public:
  JobFanout(Ready* ready, const Encoder* encoder, std::string job)
      : FanoutQueue(ready), encoder_(*encoder), job_(std::move(job)) {}

 private:
  struct Listener {
    core::StreamId id = 0;
    StreamPort* stream = nullptr;
  };

  void Handle(JobEntry&& entry) override;
  void On(const AttachEntry& entry);
  void On(const NotifyEntry& entry);
  void On(const ResultEntry& entry);
  void On(const EndEntry& entry);
  void On(const EndAllEntry& entry);
  void On(const std::monostate&) {}

  const Encoder& encoder_;
  const std::string job_;
  std::vector<Listener> notify_;
  std::vector<Listener> result_;
};

// --- Detached streams: attached to no queue. Each gets exactly one entry ---

struct ReplayEntry {
  StreamPort* stream = nullptr;
  std::string job;
  core::RunId run = core::kNoRun;
  std::shared_ptr<const std::string> message;
};
struct EndDetachedEntry {
  StreamPort* stream = nullptr;
  std::shared_ptr<const base::Status> status;
};
using DetachedEntry = std::variant<std::monostate, ReplayEntry, EndDetachedEntry>;

class DetachedFanout final : public lockfree::FanoutQueue<DetachedEntry> {
 public:
  DetachedFanout(Ready* ready, const Encoder* encoder) : FanoutQueue(ready), encoder_(*encoder) {}

 private:
  void Handle(DetachedEntry&& entry) override;

  const Encoder& encoder_;
};

// --- Agents: a fixed number of queues; a link always uses the same one ---

struct LinkEntry {
  LinkPort* link = nullptr;
  std::unique_ptr<const core::CoordinatorMessage> message;  // null: end the link
  std::shared_ptr<const base::Status> status;               // of the end
};

class LinkFanout final : public lockfree::FanoutQueue<LinkEntry> {
 public:
  using FanoutQueue::FanoutQueue;

 private:
  void Handle(LinkEntry&& entry) override;
};

// The pool and the queues that always exist.
//
// Thread safety: the control loop's thread; Start and Stop from the thread that owns the
// coordinator, while the loop does not run.
class Fanout {
 public:
  // encoder: outlives this object.
  explicit Fanout(const Encoder* encoder);

  base::Status Start(int workers) { return pool_.Start(workers); }
  void Stop() { pool_.Stop(); }
  // Handles what is posted on the calling thread, in addition to the workers or without any.
  void RunHere() { pool_.RunHere(); }

  std::shared_ptr<JobFanout> MakeJob(const std::string& job) {
    return std::make_shared<JobFanout>(&pool_.ready(), &encoder_, job);
  }
  BoardFanout& board() { return *board_; }
  DetachedFanout& detached() { return *detached_; }
  LinkFanout& shard(core::LinkId link) { return *shards_[link % kShards]; }

 private:
  static constexpr std::size_t kShards = 16;

  const Encoder& encoder_;
  lockfree::FanoutPool pool_;
  std::shared_ptr<BoardFanout> board_;
  std::shared_ptr<DetachedFanout> detached_;
  std::vector<std::shared_ptr<LinkFanout>> shards_;
};

}  // namespace assay::control
