#include "agent/turn.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/log.h"
#include "base/text.h"

namespace assay::agent {
namespace {

constexpr core::Ms kAckWait = 3'000;      // for the coordinator's acknowledgements before an exit
constexpr core::Ms kForcedWait = 60'000;  // for processes that are stuck in the kernel
constexpr core::Ms kCommitPauseLeast = 50;
constexpr core::Ms kCommitPauseMost = 1'000;
constexpr core::Ms kKilledWait = 10'000;
constexpr core::Ms kRefusalWait = 500;  // for sending refusals before the stream is dropped
constexpr core::Ms kRest = 3'600'000;
constexpr std::size_t kDetailShown = 200;

// Logs the records that an operator looks for in a node's log.
void LogRecord(const core::node::SpoolRecord& record) {
  if (const auto* run = std::get_if<core::node::SpoolRun>(&record)) {
    base::LogInfo("run " + std::to_string(run->assign.run) + " of job " +
                  base::Quoted(run->assign.job) + ": " +
                  base::Count(run->assign.ranks.size(), "rank", "ranks") + " here");
  } else if (const auto* one = std::get_if<core::node::SpoolOutcome>(&record)) {
    base::LogInfo("run " + std::to_string(one->key.run) + " rank " + std::to_string(one->key.rank) +
                  " " + std::string(Name(one->key.op)) + ": " +
                  std::string(Name(one->outcome.code)) + ", " +
                  base::Shown(one->outcome.detail, kDetailShown));
  }
}

}  // namespace

Turn::Turn(core::Ms commit_timeout, core::Node self, core::node::Spooled spooled, LinkPort* link,
           WorkersPort* workers, SpoolPort* spool)
    : commit_timeout_(commit_timeout),
      self_(std::move(self)),
      link_(*link),
      workers_(*workers),
      spool_(*spool),
      supervisor_(self_, std::move(spooled)) {}

void Turn::RequestStop(core::Ms grace) {
  if (stop_ != Stop::kNo) return;
  stop_ = Stop::kAsked;
  stop_grace_ = grace;
}

void Turn::ForceStop() { stop_ = Stop::kForced; }

bool Turn::Step(std::vector<core::node::NodeEvent> events, core::Ms now) {
  std::move(events.begin(), events.end(), std::back_inserter(kept_));
  if (phase_ == Phase::kStoring) RetryCommit(now);
  if (phase_ == Phase::kKilling) AwaitKilled(now);
  if (phase_ == Phase::kLoading) Load(now);
  return phase_ == Phase::kServing && !batch_ && StepBatch(now);
}

bool Turn::StepBatch(core::Ms now) {
  std::vector<core::node::NodeEvent> events;
  ForwardStop(now, &events);
  std::move(kept_.begin(), kept_.end(), std::back_inserter(events));
  kept_.clear();
  workers_.Collect(now, &events);
  if (now >= supervisor_due_) events.emplace_back(core::node::NodeTicked{});
  if (events.empty()) return false;
  batch_.emplace();
  batch_->stream = link_.stream();
  for (const core::node::NodeEvent& event : events) supervisor_.Step(event, now, &batch_->out);
  for (const std::string& text : batch_->out.internal_errors) {
    base::LogError("internal error: " + text);
  }
  retry_pause_ = kCommitPauseLeast;
  give_up_at_ = now + commit_timeout_;
  Commit(now);
  return true;
}

// Goes before new work, so that no test is started only to be ended.
void Turn::ForwardStop(core::Ms now, std::vector<core::node::NodeEvent>* events) {
  if (forwarded_stop_ == Stop::kNo && stop_ != Stop::kNo) {
    base::LogInfo("stopping: accepting no more work");
    events->emplace_back(core::node::StopAsked{stop_grace_});
    forwarded_stop_ = Stop::kAsked;
  }
  if (forwarded_stop_ == Stop::kAsked && stop_ == Stop::kForced) {
    base::LogInfo("stopping at once: ending the running tests and making their devices safe");
    events->emplace_back(core::node::StopForced{});
    forwarded_stop_ = Stop::kForced;
    forced_by_ = now + kForcedWait;
  }
}

void Turn::Release(core::Ms now) {
  if (phase_ != Phase::kServing) return;
  if (batch_) {
    const Batch batch = *std::exchange(batch_, std::nullopt);
    for (const core::node::SpoolRecord& record : batch.out.records) LogRecord(record);
    for (const core::node::NodeEffect& effect : batch.out.effects) {
      Perform(effect, batch.stream, now);
    }
    supervisor_due_ = supervisor_.NextDeadline(now);
  }
  link_.Consumed();
  FinishStop(now);
}

void Turn::Perform(const core::node::NodeEffect& effect, std::uint64_t stream, core::Ms now) {
  std::visit(
      [&](const auto& one) {
        using Effect = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Effect, core::node::SendToCoordinator>) {
          if (link_.stream() == stream) link_.Send(one.message, now);
        } else if constexpr (std::is_same_v<Effect, core::node::MakeSafe>) {
          workers_.Perform(one, now);
        } else {
          workers_.Perform(one);
        }
      },
      effect);
}

void Turn::FinishStop(core::Ms now) {
  if (stop_ == Stop::kNo || forwarded_stop_ != stop_) return;
  if (forced_by_ != 0 && now >= forced_by_) {
    base::LogError(
        "a worker process does not exit after SIGKILL; leaving it and its device behind: check the "
        "device before the next test");
    phase_ = Phase::kFinished;
    return;
  }
  if (!supervisor_.idle() || !workers_.empty() || !kept_.empty()) return;
  if (leave_by_ == 0) leave_by_ = now + kAckWait;
  if (supervisor_.owing() && link_.up() && now < leave_by_) return;
  link_.Close(now);
  if (link_.closed() || now >= leave_by_ + kAckWait) phase_ = Phase::kFinished;
}

core::Ms Turn::NextDeadline(core::Ms now) const {
  core::Ms next = now + kRest;
  switch (phase_) {
    case Phase::kServing:
      if (batch_ || !kept_.empty() || forwarded_stop_ != stop_) return now;
      next = std::min({next, supervisor_due_, workers_.NextDeadline(now)});
      if (forced_by_ != 0) next = std::min(next, forced_by_);
      if (leave_by_ > now) {
        next = std::min(next, leave_by_);
      } else if (leave_by_ != 0) {
        next = std::min(next, leave_by_ + kAckWait);
      }
      break;
    case Phase::kStoring:
    case Phase::kLoading:
      next = StopsWithoutDisk() ? now : retry_at_;
      break;
    case Phase::kKilling:
      next = workers_.empty() ? sent_by_ : std::max(killed_by_, sent_by_);
      break;
    case Phase::kFinished:
      break;
  }
  return std::max(next, now);
}

// --- When the disk does not accept records ------------------------------------------------------

void Turn::Commit(core::Ms now) {
  const base::Status status =
      batch_->out.records.empty() ? base::Status::Ok() : spool_.Commit(batch_->out.records);
  if (status.ok()) {
    phase_ = Phase::kServing;
    if (batch_->out.records.empty() || !std::exchange(logged_disk_error_, false)) return;
    base::LogInfo("the agent's state can be stored again");
    return;
  }
  disk_error_ = status.text();
  if (!std::exchange(logged_disk_error_, true)) {
    base::LogError("the agent's state cannot be stored: " + disk_error_ +
                   "; retrying; the agent starts no op and reports no outcome until it succeeds");
  }
  phase_ = Phase::kStoring;
  retry_at_ = now + retry_pause_;
  retry_pause_ = std::min(retry_pause_ * 2, kCommitPauseMost);
}

void Turn::RetryCommit(core::Ms now) {
  if (StopsWithoutDisk()) return RestartFromSpool(now);
  if (now < retry_at_) return;
  if (now >= give_up_at_) return RestartFromSpool(now);
  Commit(now);
}

void Turn::RestartFromSpool(core::Ms now) {
  const Batch batch = *std::exchange(batch_, std::nullopt);
  sent_by_ = now;
  if (batch.stream != 0 && link_.stream() == batch.stream &&
      RefuseNewRuns(batch.out.records, now)) {
    sent_by_ = now + kRefusalWait;
  }
  if (!workers_.empty()) {
    base::LogError("killing the running tests: their outcomes cannot be stored");
  }
  workers_.KillAll();
  killed_by_ = now + kKilledWait;
  phase_ = Phase::kKilling;
}

// A run that was never stored has begun nothing, and the agent forgets it with the supervisor, so
// its refusal needs no spool. If the refusal is lost, the coordinator assigns the run again.
bool Turn::RefuseNewRuns(const std::vector<core::node::SpoolRecord>& records, core::Ms now) {
  core::Outcomes refused;
  const std::string detail =
      base::Printable("the agent's state cannot be stored: " + disk_error_, base::kDetailBytesMax);
  for (const core::node::SpoolRecord& record : records) {
    const auto* run = std::get_if<core::node::SpoolRun>(&record);
    if (run == nullptr) continue;
    for (const core::AssignedRank& rank : run->assign.ranks) {
      for (const core::Op op : core::kAllOps) {
        if (!rank.ops.Has(op)) continue;
        refused.reports.push_back(
            {run->assign.run, rank.rank, op, core::OutcomeCode::kNotRun, detail, -1, 0});
      }
    }
  }
  if (refused.reports.empty()) return false;
  link_.Send(refused, now);
  return true;
}

void Turn::AwaitKilled(core::Ms now) {
  // Reaps the processes; KillAll has discarded their events.
  std::vector<core::node::NodeEvent> none;
  workers_.Collect(now, &none);
  if (now < sent_by_ || (!workers_.empty() && now < killed_by_)) return;
  // Everything is sent again on the next stream, by the next supervisor. What was kept belongs to
  // this stream or to earlier ones; a LinkUp that comes from here on is for the next supervisor.
  std::vector<core::node::NodeEvent> dropped;
  link_.Drop("the agent's state cannot be stored", &dropped);
  kept_.clear();
  phase_ = Phase::kLoading;
  retry_at_ = now;
}

void Turn::Load(core::Ms now) {
  if (StopsWithoutDisk()) {
    phase_ = Phase::kFinished;
    return;
  }
  if (now < retry_at_) return;
  base::Result<core::node::Spooled> spooled = spool_.Load();
  if (!spooled.ok()) {
    retry_at_ = now + kCommitPauseMost;
    return;
  }
  supervisor_ = core::node::Supervisor(self_, std::move(spooled).value());
  forwarded_stop_ = Stop::kNo;
  supervisor_due_ = 0;
  phase_ = Phase::kServing;
}

bool Turn::StopsWithoutDisk() const {
  return stop_ == Stop::kForced || (stop_ == Stop::kAsked && workers_.empty());
}

}  // namespace assay::agent
