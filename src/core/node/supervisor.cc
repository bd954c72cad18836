#include "core/node/supervisor.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "core/node/node_run.h"
#include "core/node/step.h"

namespace assay::core::node {
namespace {

constexpr Ms kResendMs = 5'000;
constexpr Ms kRestMs = 3'600'000;           // NextDeadline without a deadline: now + 1 h
constexpr std::size_t kReportsMax = 1'000;  // outcomes in one message
constexpr std::size_t kEndedMax = 4'096;

constexpr const char* kStopping = "agent is stopping";

// Sorts by rank, keeps the first entry of each rank and removes ranks without ops.
void Tidy(std::vector<AssignedRank>* ranks) {
  const auto by_rank = [](const AssignedRank& a, const AssignedRank& b) { return a.rank < b.rank; };
  const auto same = [](const AssignedRank& a, const AssignedRank& b) { return a.rank == b.rank; };
  std::erase_if(*ranks, [](const AssignedRank& rank) { return rank.ops.empty(); });
  std::stable_sort(ranks->begin(), ranks->end(), by_rank);
  ranks->erase(std::unique(ranks->begin(), ranks->end(), same), ranks->end());
}

void Tidy(SpooledRun* run) {
  run->assign.ranks.clear();
  std::stable_sort(
      run->ranks.begin(), run->ranks.end(),
      [](const SpooledRank& a, const SpooledRank& b) { return a.assigned.rank < b.assigned.rank; });
}

// {0, 1, 2, 3, 6} -> "0-3,6"; {} -> "none".
std::string Ranges(const std::set<std::int32_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int32_t first = *at;
    std::int32_t last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text += '-' + std::to_string(last);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

class Supervisor::Impl {
 public:
  Impl(Node self, Spooled spooled) : self_(std::move(self)), spooled_(std::move(spooled)) {
    for (const DeviceInfo& device : self_.devices) devices_.insert(device.index);
    for (auto& [id, run] : spooled_) {
      Tidy(&run);
      runs_.try_emplace(id, id, &run);
    }
  }

  void Step(const NodeEvent& event, Ms now, NodeOutput* out) {
    NodeStep step{now, link_up_, &spooled_, out};
    if (!std::exchange(taken_up_, true)) {
      for (auto& [id, run] : runs_) run.TakeUp(step);
    }
    std::visit([&](const auto& one) { On(one, &step); }, event);
    for (auto& [id, run] : runs_) {
      run.Advance(step);
      run.Expire(step);
      run.Advance(step);
    }
    if (link_up_) Say(step);
    DropEnded(step);
    if (!Any(&NodeRun::unheard)) resend_at_ = kNever;
  }

  Ms NextDeadline(Ms now) const {
    if (!taken_up_ && Any(&NodeRun::open)) return now;
    Ms due = resend_at_;
    for (const auto& [id, run] : runs_) due = std::min(due, run.Due());
    return due == kNever ? now + kRestMs : std::max(due, now);
  }

  bool idle() const {
    if (!taken_up_ && Any(&NodeRun::open)) return false;
    return std::all_of(runs_.begin(), runs_.end(),
                       [](const auto& run) { return run.second.free(); });
  }
  bool owing() const { return Any(&NodeRun::owing); }
  const Spooled& spooled() const { return spooled_; }

 private:
  bool Any(bool (NodeRun::*what)() const) const {
    return std::any_of(runs_.begin(), runs_.end(),
                       [what](const auto& run) { return (run.second.*what)(); });
  }
  NodeRun* Find(RunId id) {
    const auto run = runs_.find(id);
    return run == runs_.end() ? nullptr : &run->second;
  }

  // --- Link --------------------------------------------------------------------------------------

  void On(const LinkUp&, NodeStep* step) {
    link_up_ = step->link_up = true;
    // ended_ guards against repeats, and a message is repeated only within one stream. A
    // coordinator that lost its database reuses run numbers, so a new stream starts without it.
    ended_.clear();
    ended_order_.clear();
    Hello hello;
    hello.node = self_;
    for (auto& [id, run] : runs_) {
      hello.held.push_back({id, run.started()});
      run.SayAgain(true);
    }
    step->Send(std::move(hello));
    for (auto& [id, run] : runs_) run.SayUnderWay(*step);
  }
  void On(const LinkDown&, NodeStep* step) {
    link_up_ = step->link_up = false;
    for (auto& [id, run] : runs_) run.SayAgain(true);
  }
  void On(const CoordinatorSaid& said, NodeStep* step) {
    std::visit([&](const auto& message) { On(message, step); }, said.message);
  }
  void On(const Welcome&, NodeStep*) {}

  void On(const Assign& message, NodeStep* step) {
    if (message.run == kNoRun || ended_.count(message.run) != 0) return;
    if (NodeRun* held = Find(message.run)) {
      held->SayAgain(true);
      return;
    }
    Assign assign = message;
    Tidy(&assign.ranks);
    if (assign.ranks.empty()) {
      step->Send(Ready{assign.run});
      return;
    }
    step->Store(SpoolRun{assign});
    NodeRun& run =
        runs_.try_emplace(assign.run, assign.run, &spooled_.at(assign.run)).first->second;
    for (std::size_t i = 0; i < run.size(); ++i) {
      const std::string reason = WhyNot(run.assigned(i).device);
      if (reason.empty()) {
        run.Spawn(i, *step);
      } else {
        run.Refuse(i, reason, *step);
      }
    }
  }
  void On(const Start& message, NodeStep* step) {
    if (NodeRun* run = Find(message.run)) run->Start(*step);
  }
  void On(const Cancel& message, NodeStep* step) {
    const auto held = spooled_.find(message.run);
    if (held == spooled_.end()) return;
    const Ms kill_at = Later(step->now, held->second.assign.kill_grace);
    Find(message.run)->End({"cancelled", kill_at, "cancelled", true});
  }
  void On(const Discard& message, NodeStep* step) {
    if (NodeRun* run = Find(message.run)) {
      run->Discard(*step);
    } else if (message.run != kNoRun) {
      Remember(message.run);
      step->Send(Discarded{message.run});
    }
  }
  void On(const Ack& message, NodeStep* step) {
    bool news = false;
    for (const OutcomeKey& key : message.keys) {
      NodeRun* run = Find(key.run);
      if (run != nullptr && run->Acknowledge(key, *step)) news = true;
    }
    if (news) resend_at_ = Later(step->now, kResendMs);
  }

  // --- Workers -----------------------------------------------------------------------------------

  void On(const WorkerOpened& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->Opened(said.worker.rank, *step);
  }
  void On(const WorkerFailed& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->Failed(said.worker.rank, said.reason, *step);
  }
  void On(const WorkerProgressed& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->Progressed(said, *step);
  }
  void On(const WorkerP2pPrepared& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->Prepared(said, *step);
  }
  void On(const WorkerOpDone& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->OpDone(said, *step);
  }
  void On(const WorkerGone& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->Gone(said.worker.rank, said.how, *step);
  }
  void On(const DeviceSafe& said, NodeStep* step) {
    if (NodeRun* run = Find(said.worker.run)) run->Safe(said, *step);
  }

  // --- Stop and ticks ----------------------------------------------------------------------------

  void On(const StopAsked& asked, NodeStep* step) { Stop(Later(step->now, asked.grace)); }
  void On(const StopForced&, NodeStep* step) { Stop(step->now); }
  void On(const NodeTicked&, NodeStep*) {}

  void Stop(Ms kill_at) {
    stopping_ = true;
    for (auto& [id, run] : runs_) {
      run.End({kStopping, kill_at, "agent stopped during the test", false});
    }
  }

  // Why no worker may be started on the device; empty if one may.
  std::string WhyNot(std::int32_t device) const {
    if (stopping_) return kStopping;
    const std::string name = "device " + std::to_string(device);
    if (devices_.count(device) == 0) {
      return "no " + name + " on this node (it has " + Ranges(devices_) + ")";
    }
    for (const auto& [id, run] : runs_) {
      if (run.Holds(device)) return name + " is held by run " + std::to_string(id);
    }
    return "";
  }

  // Sends outcomes that are new or were not acknowledged within kResendMs, then Ready. A run's
  // outcomes must precede the Ready that depends on them.
  void Say(const NodeStep& step) {
    if (step.now >= resend_at_) {
      resend_at_ = kNever;
      for (auto& [id, run] : runs_) run.SayAgain(false);
    }
    std::vector<OutcomeReport> reports;
    for (auto& [id, run] : runs_) run.TakeReports(step.now, &reports);
    if (!reports.empty() && resend_at_ == kNever) resend_at_ = Later(step.now, kResendMs);
    for (std::size_t from = 0; from < reports.size(); from += kReportsMax) {
      const auto first = reports.begin() + static_cast<std::ptrdiff_t>(from);
      const std::size_t count = std::min(kReportsMax, reports.size() - from);
      step.Send(Outcomes{{std::make_move_iterator(first),
                          std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count))}});
    }
    for (auto& [id, run] : runs_) {
      if (run.TakeReady()) step.Send(Ready{id});
    }
  }

  void DropEnded(const NodeStep& step) {
    for (auto at = runs_.begin(); at != runs_.end();) {
      const RunId id = at->first;
      const bool discarded = at->second.discarded() && at->second.free();
      if (!discarded && !at->second.settled()) {
        ++at;
        continue;
      }
      at = runs_.erase(at);
      step.Store(SpoolDrop{id});
      if (discarded) step.Send(Discarded{id});
      Remember(id);
    }
  }

  // Remembers the run so that a repeated Assign does not run its tests again.
  void Remember(RunId id) {
    if (!ended_.insert(id).second) return;
    ended_order_.push_back(id);
    if (ended_order_.size() <= kEndedMax) return;
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }

  const Node self_;
  std::set<std::int32_t> devices_;
  Spooled spooled_;
  std::map<RunId, NodeRun> runs_;  // same keys as spooled_
  std::set<RunId> ended_;          // runs that ended on this link, the last kEndedMax
  std::deque<RunId> ended_order_;  // the same, oldest first
  bool taken_up_ = false;
  bool link_up_ = false;
  bool stopping_ = false;
  Ms resend_at_ = kNever;
};

Supervisor::Supervisor(Node self, Spooled spooled)
    : impl_(std::make_unique<Impl>(std::move(self), std::move(spooled))) {}
Supervisor::~Supervisor() = default;
Supervisor::Supervisor(Supervisor&&) noexcept = default;
Supervisor& Supervisor::operator=(Supervisor&&) noexcept = default;

void Supervisor::Step(const NodeEvent& event, Ms now, NodeOutput* out) {
  impl_->Step(event, now, out);
}
Ms Supervisor::NextDeadline(Ms now) const { return impl_->NextDeadline(now); }
bool Supervisor::idle() const { return impl_->idle(); }
bool Supervisor::owing() const { return impl_->owing(); }
const Spooled& Supervisor::spooled() const { return impl_->spooled(); }

}  // namespace assay::core::node
