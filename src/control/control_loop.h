// The one thread that owns the truth: takes what has arrived as a batch, steps it through the
// cluster, commits all records of the batch in one transaction and releases the effects in order,
// after the commit and only then.
//
// When a commit fails nothing of the batch leaves: every call that waits gets UNAVAILABLE with the
// store's reason, every stream and link is ended with it, health says NOT_SERVING, and the cluster
// is thrown away. From then on what arrives is refused in the same way, and about once a second the
// state is loaded again and a small commit is tried. When both work service returns; clients and
// agents come back by themselves.
//
// Time starts at the wall clock and goes on with the steady one: it never jumps while the process
// lives.
//
// Thread safety: Load, Start, Join from the thread that owns the coordinator; everything else
// happens on the loop's own thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/memory.h"
#include "base/status.h"
#include "control/fanout.h"
#include "control/intake.h"
#include "control/stream_table.h"
#include "core/cluster/cluster.h"
#include "store/storage.h"

namespace assay {

class ControlLoop {
 public:
  // serving: told when service stops or returns; must not block for long.
  // The pointers outlive the loop.
  ControlLoop(const Settings& settings, Intake* intake, Fanout* fanout, Storage* storage,
              std::function<void(bool)> serving);

  // Before Start: what the store has.
  Status Load();
  Status Start();
  // Returns when the intake's mailbox is closed and drained. Before that, Intake::BeginStop.
  void Join();

 private:
  // A batch ends at so many items taken or so many records made, whichever comes first: enough to
  // make the sync of a commit cheap, few enough that nobody waits long for his.
  static constexpr std::size_t kItemsMax = 256;
  static constexpr std::size_t kRecordsMax = 8192;
  static constexpr Ms kTick = 1000;
  static constexpr Ms kRetry = 1000;

  Ms Now() const;
  void Run();
  int WaitMs() const;
  void Take();
  void Handle(Inbound&& item);
  void OnCall(Inbound&& item);
  void OnStreamOpened(Inbound&& item);
  void OnLinkOpened(const Inbound& item);
  void OnStop();
  void Step(const Event& event) { cluster_->Step(event, Now(), &out_); }
  void Tick();
  void EndBatch();
  void Release();
  void Release(Effect&& effect);
  void ForgetBatch();

  void BeginOutage(const Status& why);
  void TryToRecover();
  // Why newcomers are refused; nothing: they are not.
  const Status* Refusal() const;

  const Settings settings_;
  Intake* const intake_;
  Storage* const storage_;
  const std::function<void(bool)> serving_;
  const Ms wall_start_;
  const std::chrono::steady_clock::time_point steady_start_;

  std::optional<Cluster> cluster_;  // none in an outage
  std::unordered_map<CallId, PendingCall*> calls_;
  StreamTable streams_;
  LinkTable links_;

  // Of the batch under way.
  Output out_;
  std::vector<StreamId> closed_streams_;  // told to the core; ended after the commit if it did not
  std::vector<LinkId> closed_links_;
  std::vector<LinkId> consumed_;  // read on after the commit

  std::vector<Inbound> items_;  // reused
  Ms next_tick_ = 0;
  bool idle_said_ = false;
  MemoryKeeper memory_;
  bool stopping_ = false;
  Status refusal_;  // of an outage or the stop; ok: none
  Ms outage_since_ = 0;
  Ms next_retry_ = 0;

  std::thread thread_;
};

}  // namespace assay
