// The way out: what the control loop says to streams and agents becomes entries of lock-free
// queues; fan-out workers serialise each once and push the bytes into the outboxes.
//
// Who may touch a stream or link: the loop until it gives it to a queue (Attach, EndLoose, Replay,
// the first entry of a link), then that queue's handler alone, until the handler ends it. The loop
// names an attached stream by id, so an entry for one that is gone finds nothing.
//
// Order: the loop is the only poster, so the entries of one queue are handled as it posted them.
// Nothing orders two queues; one stream hears from one queue only (a link from its shard).
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

namespace assay {

// --- One job's listeners ---

struct NotifyEntry {
  std::shared_ptr<const std::vector<RankOps>> ranks;
};
// To all result listeners, then they are ended.
struct ResultEntry {
  RunId run = kNoRun;
  std::shared_ptr<const std::string> message;
};
using JobEntry =
    std::variant<std::monostate, AttachEntry, NotifyEntry, ResultEntry, EndEntry, EndAllEntry>;

class JobFanout final : public FanoutQueue<JobEntry> {
 public:
  JobFanout(Ready* ready, const Encoder* encoder, std::string job)
      : FanoutQueue(ready), encoder_(*encoder), job_(std::move(job)) {}

 private:
  struct Listener {
    StreamId id = 0;
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

// --- Streams that belong to no queue: each entry is the only one of its stream ---

struct ReplayEntry {
  StreamPort* stream = nullptr;
  std::string job;
  RunId run = kNoRun;
  std::shared_ptr<const std::string> message;
};
struct EndLooseEntry {
  StreamPort* stream = nullptr;
  std::shared_ptr<const Status> status;
};
using LooseEntry = std::variant<std::monostate, ReplayEntry, EndLooseEntry>;

class LooseFanout final : public FanoutQueue<LooseEntry> {
 public:
  LooseFanout(Ready* ready, const Encoder* encoder) : FanoutQueue(ready), encoder_(*encoder) {}

 private:
  void Handle(LooseEntry&& entry) override;

  const Encoder& encoder_;
};

// --- Agents: a fixed number of queues, a link always in the same ---

struct LinkEntry {
  LinkPort* link = nullptr;
  std::unique_ptr<const CoordinatorMessage> message;  // null: the end
  std::shared_ptr<const Status> status;               // of the end
};

class LinkFanout final : public FanoutQueue<LinkEntry> {
 public:
  using FanoutQueue::FanoutQueue;

 private:
  void Handle(LinkEntry&& entry) override;
};

// The pool and the queues that always exist. Thread safety: the control loop; Start and Stop from
// the thread that owns the coordinator, when the loop does not run.
class Fanout {
 public:
  explicit Fanout(const Encoder* encoder);  // which outlives it

  Status Start(int workers) { return pool_.Start(workers); }
  void Stop() { pool_.Stop(); }

  std::shared_ptr<JobFanout> MakeJob(const std::string& job) {
    return std::make_shared<JobFanout>(&pool_.ready(), &encoder_, job);
  }
  BoardFanout& board() { return *board_; }
  LooseFanout& loose() { return *loose_; }
  LinkFanout& shard(LinkId link) { return *shards_[link % kShards]; }

 private:
  static constexpr std::size_t kShards = 16;

  const Encoder& encoder_;
  FanoutPool pool_;
  std::shared_ptr<BoardFanout> board_;
  std::shared_ptr<LooseFanout> loose_;
  std::vector<std::shared_ptr<LinkFanout>> shards_;
};

}  // namespace assay
