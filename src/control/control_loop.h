// The thread that owns the cluster's state. It takes the mailbox's items in batches, steps each
// through the cluster, commits all records of the batch in one transaction and releases the effects
// in order, only after the commit.
//
// When a commit fails, no effect of the batch is released: every waiting call gets UNAVAILABLE with
// the store's reason, every stream and link is ended with the same status, health reports
// NOT_SERVING, and the cluster object is discarded. During the outage new calls, streams and links
// are refused with that status. About once a second the loop loads the state again and tries a
// small commit; when both succeed, service resumes. Clients and agents reconnect by themselves.
//
// Time starts at the wall clock and advances with the steady clock, so it never jumps while the
// process lives.
//
// Thread safety: Load, Start and Join from the thread that owns the coordinator; everything else
// runs on the loop's own thread.
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

namespace assay::control {

class ControlLoop {
 public:
  // serving: called with false when an outage begins and with true when it ends; must not block for
  // long. The pointers outlive the loop.
  ControlLoop(const core::Settings& settings, Intake* intake, Fanout* fanout,
              store::Storage* storage, std::function<void(bool)> serving);

  // Loads the stored state. Call it before Start.
  base::Status Load();
  base::Status Start();
  // Returns when the intake's mailbox is closed and drained. Call Intake::BeginStop first.
  void Join();

 private:
  // A batch ends at kItemsMax items or kRecordsMax records, whichever comes first: enough to
  // amortise the sync of a commit, few enough that no caller waits long for its commit.
  static constexpr std::size_t kItemsMax = 256;
  static constexpr std::size_t kRecordsMax = 8192;
  static constexpr core::Ms kTick = 1000;
  static constexpr core::Ms kRetry = 1000;

  core::Ms Now() const;
  void Run();
  int WaitMs() const;
  void Take();
  void Handle(Inbound&& item);
  void OnCall(Inbound&& item);
  void OnStreamOpened(Inbound&& item);
  void OnLinkOpened(const Inbound& item);
  void OnStop();
  void Step(const core::Event& event) { cluster_->Step(event, Now(), &out_); }
  void Tick();
  void EndBatch();
  void Release();
  void Release(core::Effect&& effect);
  void ForgetBatch();

  void BeginOutage(const base::Status& why);
  void TryToRecover();
  // The reason why new calls, streams and links are refused; null: they are accepted.
  const base::Status* Refusal() const;

  const core::Settings settings_;
  Intake* const intake_;
  store::Storage* const storage_;
  const std::function<void(bool)> serving_;
  const core::Ms wall_start_;
  const std::chrono::steady_clock::time_point steady_start_;

  std::optional<core::cluster::Cluster> cluster_;  // empty in an outage
  std::unordered_map<core::CallId, PendingCall*> calls_;
  StreamTable streams_;
  LinkTable links_;

  // The current batch's.
  core::Output out_;
  // Their close was posted. Ended after the commit, unless an effect of the core ended them.
  std::vector<core::StreamId> closed_streams_;
  std::vector<core::LinkId> closed_links_;
  std::vector<core::LinkId>
      consumed_;  // links whose message was consumed; read on after the commit

  std::vector<Inbound> items_;  // reused
  core::Ms next_tick_ = 0;
  bool idle_said_ = false;
  base::MemoryTrimmer memory_;
  bool stopping_ = false;
  base::Status refusal_;  // the reason of an outage or of the stop; ok: neither
  core::Ms outage_since_ = 0;
  core::Ms next_retry_ = 0;

  std::thread thread_;
};

}  // namespace assay::control
