#include "agent/loop.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/log.h"
#include "base/text.h"
#include "base/wall_clock.h"

namespace assay::agent {
namespace {

constexpr std::size_t kInputsMax = 256;
constexpr core::Ms kWaitMost = 60'000;
constexpr core::Ms kRest = 500;       // an idle period at least this long allows spool housekeeping
constexpr core::Ms kAckWait = 3'000;  // for the coordinator's acknowledgements before an exit
constexpr core::Ms kForcedWait = 60'000;  // for processes that are stuck in the kernel
constexpr core::Ms kCommitPauseLeast = 50;
constexpr core::Ms kCommitPauseMost = 1'000;
constexpr core::Ms kKilledWait = 10'000;
constexpr core::Ms kFarewellWait =
    500;  // for sending the last message before the stream is dropped
constexpr core::Ms kStandstill =
    1'000;  // a longer oversleep counts as time in which it could not run
constexpr std::size_t kDetailShown = 200;

// Waits until one of the descriptors is readable, at most `wait`.
void PollFor(std::initializer_list<int> fds, core::Ms wait) {
  std::array<pollfd, 2> look{};
  nfds_t count = 0;
  for (const int fd : fds) look[count++] = {fd, POLLIN, 0};
  poll(look.data(), count, static_cast<int>(std::clamp(wait, core::Ms{0}, kWaitMost)));
}

// Logs the records that an operator looks for in a node's log.
void Say(const core::node::SpoolRecord& record) {
  if (const auto* run = std::get_if<core::node::SpoolRun>(&record)) {
    base::LogInfo("run " + std::to_string(run->assign.run) + " of job " +
                  base::Quoted(run->assign.job) + ": " +
                  base::Count(run->assign.ranks.size(), "rank", "ranks") + " here");
  } else if (const auto* said = std::get_if<core::node::SpoolOutcome>(&record)) {
    base::LogInfo("run " + std::to_string(said->key.run) + " rank " +
                  std::to_string(said->key.rank) + " " + std::string(Name(said->key.op)) + ": " +
                  std::string(Name(said->outcome.code)) + ", " +
                  base::Shown(said->outcome.detail, kDetailShown));
  }
}

}  // namespace

AgentClock::AgentClock()
    : wall_at_start_(base::WallNow()), start_(std::chrono::steady_clock::now()) {}

core::Ms AgentClock::Now() const {
  return wall_at_start_ - left_out_ +
         std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start_)
             .count();
}

AgentLoop::AgentLoop(LoopOptions options, core::Node self, core::node::Spooled spooled,
                     LinkOptions link, WorkerSpec worker, store::Spool* spool,
                     std::shared_ptr<AgentInbox> inbox)
    : options_(options),
      self_(std::move(self)),
      spool_(spool),
      inbox_(std::move(inbox)),
      link_(std::move(link), inbox_),
      workers_(std::move(worker)),
      supervisor_(self_, std::move(spooled)) {}

AgentLoop::~AgentLoop() = default;

void AgentLoop::Run() {
  StepAll({core::node::NodeTicked{}});
  while (!Finished()) {
    Wait();
    std::vector<core::node::NodeEvent> events = std::exchange(held_, {});
    Collect(&events);
    if (stop_ == Stop::kAbandoned) break;
    StepAll(events);
    link_.Consumed();
  }
  inbox_->Close();
}

void AgentLoop::Wait() {
  const core::Ms now = clock_.Now();
  core::Ms until = std::min({link_.NextDeadline(now), workers_.NextDeadline(now), supervisor_due_});
  if (forced_by_ != 0) until = std::min(until, forced_by_);
  if (leave_by_ > now) until = std::min(until, leave_by_);
  if (until - now >= kRest) spool_->Idle();
  if (memory_.Due()) base::ReturnFreedMemory();
  if (memory_.pending()) until = std::min(until, now + kRest);
  const core::Ms planned = held_.empty() ? std::clamp(until - now, core::Ms{0}, kWaitMost) : 0;
  PollFor({inbox_->wake_fd(), workers_.poll_fd()}, planned);
  const core::Ms overslept = clock_.Now() - now - planned;
  if (overslept < kStandstill) return;
  base::LogWarn("the agent could not run for " + std::to_string(overslept / 1000) +
                " s; extending its deadlines by the same time");
  clock_.StoodStill(overslept);
}

void AgentLoop::TakeInputs(std::vector<core::node::NodeEvent>* events) {
  const core::Ms now = clock_.Now();
  inputs_.clear();
  inbox_->Drain(&inputs_, kInputsMax);
  for (const AgentInput& input : inputs_) {
    switch (input.kind) {
      case AgentInput::Kind::kStop:
        stop_ = std::max(stop_, Stop::kAsked);
        break;
      case AgentInput::Kind::kForceStop:
        stop_ = std::max(stop_, Stop::kForced);
        break;
      case AgentInput::Kind::kAbandon:
        stop_ = Stop::kAbandoned;
        break;
      case AgentInput::Kind::kStreamRead:
      case AgentInput::Kind::kStreamWrote:
      case AgentInput::Kind::kStreamEnded:
        link_.Handle(input, now, events);
        break;
    }
  }
  link_.Tick(now, events);
}

void AgentLoop::Collect(std::vector<core::node::NodeEvent>* events) {
  std::vector<core::node::NodeEvent> later;
  TakeInputs(&later);
  const core::Ms now = clock_.Now();
  workers_.Collect(now, &later);
  // The stop request goes before new work.
  if (told_ == Stop::kNo && stop_ != Stop::kNo) {
    base::LogInfo("stopping: accepting no more work");
    events->push_back(core::node::StopAsked{options_.stop_grace});
    told_ = Stop::kAsked;
  }
  if (told_ == Stop::kAsked && stop_ == Stop::kForced) {
    base::LogInfo("stopping at once: ending the running tests and making their devices safe");
    events->push_back(core::node::StopForced{});
    told_ = Stop::kForced;
    forced_by_ = now + kForcedWait;
  }
  std::move(later.begin(), later.end(), std::back_inserter(*events));
  if (now >= supervisor_due_) events->push_back(core::node::NodeTicked{});
}

void AgentLoop::StepAll(const std::vector<core::node::NodeEvent>& events) {
  if (events.empty()) return;
  memory_.Worked();
  const core::Ms now = clock_.Now();
  core::node::NodeOutput out;
  for (const core::node::NodeEvent& event : events) supervisor_.Step(event, now, &out);
  const std::uint64_t stream = link_.stream();
  if (!out.records.empty() && !Commit(out.records)) {
    if (link_.stream() == stream) RefuseNewRuns(out.records);
    BeginAnew();
    return;
  }
  for (const core::node::SpoolRecord& record : out.records) Say(record);
  for (const core::node::NodeEffect& effect : out.effects) Perform(effect, stream);
  supervisor_due_ = supervisor_.NextDeadline(clock_.Now());
}

void AgentLoop::Perform(const core::node::NodeEffect& effect, std::uint64_t stream) {
  const core::Ms now = clock_.Now();
  if (const auto* send = std::get_if<core::node::SendToCoordinator>(&effect)) {
    if (link_.stream() == stream) link_.Send(send->message, now);
    return;
  }
  std::visit(
      [&](const auto& one) {
        using Effect = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Effect, core::node::MakeSafe>) {
          workers_.Perform(one, now);
        } else if constexpr (!std::is_same_v<Effect, core::node::SendToCoordinator>) {
          workers_.Perform(one);
        }
      },
      effect);
}

bool AgentLoop::Finished() {
  if (left_) return true;
  if (stop_ == Stop::kNo || told_ != stop_) return false;
  const core::Ms now = clock_.Now();
  if (forced_by_ != 0 && now >= forced_by_) {
    base::LogError(
        "a worker process does not exit after SIGKILL; leaving it and its device behind: check the "
        "device before the next test");
    return true;
  }
  if (!supervisor_.idle() || !workers_.empty() || !held_.empty()) return false;
  if (leave_by_ == 0) leave_by_ = now + kAckWait;
  if (supervisor_.owing() && link_.up() && now < leave_by_) return false;
  link_.Close(now);
  return link_.closed() || now >= leave_by_ + kAckWait;
}

// --- When the disk does not accept records ------------------------------------------------------

bool AgentLoop::Commit(const std::vector<core::node::SpoolRecord>& records) {
  const core::Ms give_up = clock_.Now() + options_.commit_patience;
  for (core::Ms pause = kCommitPauseLeast;; pause = std::min(pause * 2, kCommitPauseMost)) {
    const base::Status status = spool_->Commit(records);
    disk_trouble_ = status.text();
    if (status.ok()) {
      if (std::exchange(said_disk_, false)) base::LogInfo("the agent's state can be stored again");
      return true;
    }
    if (!std::exchange(said_disk_, true)) {
      base::LogError("the agent's state cannot be stored: " + status.text() +
                     "; retrying; the agent starts no op and reports no outcome until it succeeds");
    }
    WaitForDisk(pause);
    if (LeavesWithoutDisk() || clock_.Now() >= give_up) return false;
  }
}

void AgentLoop::WaitForDisk(core::Ms pause) {
  const core::Ms until = clock_.Now() + pause;
  for (core::Ms now = clock_.Now(); now < until && stop_ != Stop::kAbandoned; now = clock_.Now()) {
    PollFor({inbox_->wake_fd()}, std::min(until, link_.NextDeadline(now)) - now);
    TakeInputs(&held_);
  }
}

// A run that was never stored has begun nothing, and the agent forgets it with the supervisor, so
// its refusal needs no spool. If the refusal is lost, the coordinator assigns the run again.
void AgentLoop::RefuseNewRuns(const std::vector<core::node::SpoolRecord>& records) {
  core::Outcomes refused;
  const std::string detail = base::Printable("the agent's state cannot be stored: " + disk_trouble_,
                                             base::kDetailBytesMax);
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
  if (refused.reports.empty()) return;
  link_.Send(refused, clock_.Now());
  WaitForDisk(kFarewellWait);  // lets the link send it: the caller drops the stream next
}

bool AgentLoop::LeavesWithoutDisk() const {
  return stop_ >= Stop::kForced || (stop_ == Stop::kAsked && workers_.empty());
}

void AgentLoop::BeginAnew() {
  if (!workers_.empty())
    base::LogError("killing the running tests: their outcomes cannot be stored");
  workers_.KillAll();
  std::vector<core::node::NodeEvent> dropped;
  const core::Ms killed_by = clock_.Now() + kKilledWait;
  for (core::Ms now = clock_.Now(); !workers_.empty() && now < killed_by; now = clock_.Now()) {
    PollFor({workers_.poll_fd()}, killed_by - now);
    workers_.Collect(now, &dropped);
  }
  link_.Drop("the agent's state cannot be stored", &dropped);
  while (true) {
    held_.clear();
    if (LeavesWithoutDisk()) {
      left_ = true;
      return;
    }
    base::Result<core::node::Spooled> spooled = spool_->Load();
    if (spooled.ok()) {
      supervisor_ = core::node::Supervisor(self_, std::move(spooled).value());
      break;
    }
    WaitForDisk(kCommitPauseMost);
  }
  told_ = Stop::kNo;
  supervisor_due_ = 0;
}

}  // namespace assay::agent
