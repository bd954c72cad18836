// NodeRun: starting ops, deadlines and reports to the coordinator.
#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "core/node/node_run.h"

namespace assay::core::node {
namespace {

using Action = RankAction;
using Phase = RankPhase;
using Trigger = RankTrigger;

constexpr const char* kTooFew = "p2p needs two ready devices on this node";

}  // namespace

// --- Starting ops --------------------------------------------------------------------------------

void NodeRun::Begin(std::size_t index, Op op, const NodeStep& step) {
  const std::int32_t rank = assigned(index).rank;
  step.Store(SpoolBegun{{id_, rank, op}, step.now});
  step.Send(Progress{id_, rank, op, true, 0, ""});
  ranks_[index].until = Later(step.now, DeadlineOf(op));
  ranks_[index].progress_from = step.now;
}

void NodeRun::Advance(const NodeStep& step) {
  if (discarded_) return;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (wind_up_) {
      AnswerUnstarted(i, step);
    } else if (started() && Acts(i, Trigger::kRunAic) && NextOpen(i) == Op::kAic) {
      Move(i, Trigger::kRunAic, step);
      Begin(i, Op::kAic, step);
      step.Do(RunAic{KeyOf(i)});
    }
  }
  if (started() && !wind_up_) GatherP2p(step);
  RunPreparedP2p(step);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!Acts(i, Trigger::kQuit) || NextOpen(i)) continue;
    Move(i, Trigger::kQuit, step);
    Quit(i, step);
  }
}

void NodeRun::AnswerUnstarted(std::size_t index, const NodeStep& step) {
  const Trigger trigger = wind_up_->cancelled ? Trigger::kCancelled : Trigger::kStopping;
  if (Move(index, trigger, step) != Action::kRefuseAndQuit) return;
  Refuse(index, wind_up_->unstarted, step);
  Quit(index, step);
}

// The barrier: prepares p2p for the ranks that can take part once no other rank can still join.
void NodeRun::GatherP2p(const NodeStep& step) {
  std::vector<std::size_t> waiting;
  std::vector<P2pMember> group;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const std::optional<Op> next = NextOpen(i);
    if (!next) continue;
    if (!Acts(i, Trigger::kPrepareP2p) || next != Op::kP2p) return;
    waiting.push_back(i);
    group.push_back({assigned(i).rank, assigned(i).device});
  }
  if (waiting.size() == 1) {
    Refuse(waiting[0], kTooFew, step);
    return;
  }
  for (std::size_t place = 0; place < waiting.size(); ++place) {
    Move(waiting[place], Trigger::kPrepareP2p, step);
    Begin(waiting[place], Op::kP2p, step);
    step.Do(PrepareP2p{KeyOf(waiting[place]), group, static_cast<std::int32_t>(place)});
  }
}

// Runs p2p on the prepared ranks once no rank is preparing any more.
void NodeRun::RunPreparedP2p(const NodeStep& step) {
  std::vector<std::size_t> prepared;
  std::vector<P2pMember> group;
  std::vector<std::string> blobs;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].phase == Phase::kPreparing) return;
    if (!Acts(i, Trigger::kRunP2p) || step.now > ranks_[i].until) continue;
    prepared.push_back(i);
    group.push_back({assigned(i).rank, assigned(i).device});
    blobs.push_back(ranks_[i].blob);
  }
  for (std::size_t place = 0; place < prepared.size(); ++place) {
    const std::size_t index = prepared[place];
    if (prepared.size() == 1) {
      Judge(index, OutcomeCode::kNotRun, kTooFew, step);
    } else if (Move(index, Trigger::kRunP2p, step) == Action::kRunP2p) {
      ranks_[index].blob.clear();
      step.Do(RunP2p{KeyOf(index), group, static_cast<std::int32_t>(place), blobs});
    }
  }
}

// --- Deadlines -----------------------------------------------------------------------------------

Ms NodeRun::LimitOf(const NodeRank& rank) const {
  switch (rank.phase) {
    case Phase::kOpening:
    case Phase::kQuitting:
    case Phase::kPrepared:
      return rank.until;
    case Phase::kAic:
    case Phase::kPreparing:
    case Phase::kP2p:
      return Later(rank.until, stored_->assign.kill_grace);
    default:
      return kNever;
  }
}

Ms NodeRun::DueOf(const NodeRank& rank) const {
  const Ms ended = wind_up_ && UnderWay(rank.phase) ? wind_up_->kill_at : kNever;
  return std::min(LimitOf(rank), ended);
}

Ms NodeRun::Due() const {
  Ms due = kNever;
  for (const NodeRank& rank : ranks_) due = std::min(due, DueOf(rank));
  return due;
}

RankEnd NodeRun::EndOfKill(std::size_t index) const {
  const NodeRank& rank = ranks_[index];
  if (wind_up_ && wind_up_->kill_at < Later(rank.until, stored_->assign.kill_grace)) {
    return {OutcomeCode::kNotRun, wind_up_->killed, wind_up_->killed};
  }
  const Op op = UnderWay(rank.phase).value_or(Op::kAic);
  return {OutcomeCode::kTimeout, "no answer within " + base::Seconds(DeadlineOf(op)), ""};
}

void NodeRun::Expire(const NodeStep& step) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (DueOf(ranks_[i]) > step.now) continue;
    RankEnd end = EndOfKill(i);  // by the phase before the move
    const bool overdue = LimitOf(ranks_[i]) <= step.now;
    switch (Move(i, overdue ? Trigger::kOverdue : Trigger::kKill, step)) {
      case Action::kRefuseAndKill:
        Refuse(i, "worker did not open its device within " + base::Seconds(kOpenMs), step);
        Kill(i, {}, step);
        break;
      case Action::kRefuse:
        // not_run, not timeout: this worker was prepared in time and waited for another one.
        Refuse(i,
               "p2p did not start within " + base::Seconds(DeadlineOf(Op::kP2p)) +
                   ": another rank was not prepared",
               step);
        break;
      case Action::kKill:
        Kill(i, std::move(end), step);
        break;
      default:
        break;
    }
  }
}

// --- Reports to the coordinator ------------------------------------------------------------------

void NodeRun::TakeReports(Ms now, std::vector<OutcomeReport>* reports) {
  if (discarded_) return;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const SpooledRank& stored = stored_->ranks[i];
    for (const Op op : stored.answered - (stored.acked | ranks_[i].sent)) {
      if (!Sendable(i, op)) continue;
      const Outcome& outcome = stored.outcomes[op];
      const Ms started_ago = stored.begun.Has(op) ? std::max<Ms>(0, now - outcome.started) : -1;
      reports->push_back({id_, stored.assigned.rank, op, outcome.code, outcome.detail, started_ago,
                          std::max<Ms>(0, now - outcome.finished)});
      ranks_[i].sent.Add(op);
    }
  }
}

bool NodeRun::TakeReady() {
  if (ready_said_ || started() || discarded_ || (wind_up_ && wind_up_->cancelled)) return false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const bool out = ranks_[i].phase == Phase::kFree && !NextOpen(i);
    if (!out && ranks_[i].phase != Phase::kIdle) return false;
  }
  ready_said_ = true;
  return true;
}

void NodeRun::SayUnderWay(const NodeStep& step) const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const std::optional<Op> op = UnderWay(ranks_[i].phase);
    if (op) step.Send(Progress{id_, assigned(i).rank, *op, true, 0, ""});
  }
}

void NodeRun::SayAgain(bool ready) {
  for (NodeRank& rank : ranks_) rank.sent = OpSet();
  if (ready) ready_said_ = false;
}

bool NodeRun::Holds(std::int32_t device) const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    // A discarded run leaves ops open. A restart before the run is dropped would take them up and
    // make their devices safe, so the run holds those devices until then.
    const bool open = discarded_ && NextOpen(i);
    if ((open || ranks_[i].phase != Phase::kFree) && assigned(i).device == device) return true;
  }
  return false;
}

bool NodeRun::free() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const NodeRank& rank) { return rank.phase == Phase::kFree; });
}

bool NodeRun::open() const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (NextOpen(i)) return true;
  }
  return false;
}

bool NodeRun::settled() const {
  return free() &&
         std::all_of(stored_->ranks.begin(), stored_->ranks.end(),
                     [](const SpooledRank& rank) { return rank.acked == rank.assigned.ops; });
}

bool NodeRun::owing() const {
  return !discarded_ &&
         std::any_of(stored_->ranks.begin(), stored_->ranks.end(),
                     [](const SpooledRank& rank) { return rank.answered != rank.acked; });
}

bool NodeRun::unheard() const {
  if (discarded_) return false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!(ranks_[i].sent - stored_->ranks[i].acked).empty()) return true;
  }
  return false;
}

}  // namespace assay::core::node
