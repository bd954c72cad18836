// The control loop's work, without its thread and its clock: a turn takes a batch of the mailbox's
// items, steps each through the cluster, commits all records of the batch in one transaction and
// releases the effects in order, only after the commit.
//
// When a commit fails, no effect of the batch is released: every waiting call gets UNAVAILABLE with
// the store's reason, every stream and link is ended with the same status, health reports
// NOT_SERVING, and the cluster object is discarded. During the outage new calls, streams and links
// are refused with that status. Once a second the state is loaded again and a small commit is
// tried; when both succeed, service resumes. Clients and agents reconnect by themselves.
//
// The time comes in with each turn, and nothing here blocks but the storage. So the simulation
// drives the same code as the control loop (tests/simulation/coordinator.h).
//
// Thread safety: none; the control loop owns it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "control/fanout.h"
#include "control/inbound.h"
#include "control/stream_table.h"
#include "core/cluster/cluster.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/settings.h"
#include "store/storage.h"

namespace assay::control {

// Sees what a turn does, for checks. An exception that it throws leaves the turn; the turn can then
// only be destroyed.
class TurnObserver {
 public:
  // The cluster was created from the stored state: at the start or at the end of an outage.
  virtual void Loaded(const core::cluster::Cluster& cluster) = 0;
  virtual void BeforeStep(const core::Event& event, const core::cluster::Cluster& cluster) = 0;
  // The step's output is `batch` from index `record` and index `effect` on.
  virtual void AfterStep(const core::Event& event, const core::Output& batch, std::size_t record,
                         std::size_t effect, const core::cluster::Cluster& cluster) = 0;
  virtual void BeforeRelease(const core::Effect& effect) = 0;

 protected:
  ~TurnObserver() = default;
};

class Turn {
 public:
  // A batch ends at kItemsMax items or kRecordsMax records, whichever comes first: enough to
  // amortise the sync of a commit, few enough that no caller waits long for its commit.
  static constexpr std::size_t kItemsMax = 256;
  static constexpr std::size_t kRecordsMax = 8192;
  // The longest time between two ticks, whatever arrives in the meantime, and between two attempts
  // to end an outage.
  static constexpr core::Ms kTick = 1000;
  static constexpr core::Ms kRetry = 1000;

  // serving: called with false when an outage begins and with true when it ends; must not block for
  // long. observer: may be null. The pointers outlive this object.
  Turn(const core::Settings& settings, Fanout* fanout, store::Storage* storage,
       std::function<void(bool)> serving, TurnObserver* observer = nullptr);

  // Loads the stored state. Call it before the first Run.
  base::Status Load(core::Ms now);

  // Handles the items, ticks if that is due, commits, and releases the effects; in an outage tries
  // to end it. `now` never decreases. Leaves `items` empty. Returns false if there was nothing to
  // do: no items and no records.
  bool Run(std::vector<Inbound>* items, core::Ms now);

  // When Run is due again although no item has arrived.
  core::Ms NextDue() const;

 private:
  void Handle(Inbound&& item);
  void OnCall(Inbound&& item);
  void OnStreamOpened(Inbound&& item);
  void OnLinkOpened(const Inbound& item);
  void OnStop();
  void Create(core::Durable&& durable);
  void Step(const core::Event& event);
  void Tick();
  void EndBatch();
  void Release();
  void ForgetBatch();

  void Release(core::Answer&& answer);
  void Release(core::AttachStream&& attach) { streams_.Attach(attach); }
  void Release(core::PublishNotify&& notify) { streams_.Notify(notify); }
  void Release(core::PublishResult&& result) { streams_.Result(result); }
  void Release(core::ReplayResult&& replay) { streams_.Replay(replay); }
  void Release(core::EndStream&& end) { streams_.End(end.stream, end.status); }
  void Release(core::PublishSignal&& signal) { streams_.Signal(std::move(signal)); }
  void Release(core::ForgetDeleted&& forget) { streams_.Forget(std::move(forget)); }
  void Release(core::ToAgent&& message) { links_.Send(std::move(message)); }
  void Release(core::EndLink&& end) { links_.End(end.link, end.status); }
  void Release(core::ReportDefect&& defect);

  void BeginOutage(const base::Status& why);
  void TryToRecover();
  // The reason why new calls, streams and links are refused; null: they are accepted.
  const base::Status* Refusal() const { return refusal_.ok() ? nullptr : &refusal_; }

  const core::Settings settings_;
  store::Storage* const storage_;
  const std::function<void(bool)> serving_;
  TurnObserver* const observer_;

  core::Ms now_ = 0;                               // of the present turn
  std::optional<core::cluster::Cluster> cluster_;  // empty in an outage
  std::unordered_map<core::CallId, PendingCall*> calls_;
  StreamTable streams_;
  LinkTable links_;

  // The current batch's.
  core::Output out_;
  // Their close was posted. Ended after the commit, unless an effect of the core ended them.
  std::vector<core::StreamId> closed_streams_;
  std::vector<core::LinkId> closed_links_;
  // Links whose message was consumed; read on after the commit.
  std::vector<core::LinkId> consumed_;

  bool worked_ = false;  // this turn handled an item or committed a record
  core::Ms last_tick_ = 0;
  core::Ms next_tick_ = 0;
  bool stopping_ = false;
  base::Status refusal_;  // the reason of an outage or of the stop; ok: neither
  core::Ms outage_since_ = 0;
  core::Ms next_retry_ = 0;
};

}  // namespace assay::control
