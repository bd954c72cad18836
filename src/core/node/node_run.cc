#include "core/node/node_run.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/text.h"

namespace assay::core::node {
namespace {

using Action = RankAction;
using Phase = RankPhase;
using Trigger = RankTrigger;

constexpr Ms kQuitMs = 5'000;
constexpr Ms kSafeMsMin = 5'000;
constexpr Ms kProgressMs = 1'000;  // shortest time between two progress messages of a rank
constexpr std::size_t kProgressBytesMax = 200;

std::string Cut(std::string_view text, std::size_t bytes_max) {
  return base::Shown(text, bytes_max - 3);
}

// Turns "signal 11\nlast output" and " in aic" into "signal 11 in aic: last output".
std::string OneLine(const std::string& how, std::string_view where = "") {
  const std::size_t end = std::min(how.find('\n'), how.size());
  std::string text = how.substr(0, end).append(where);
  if (end + 1 < how.size()) text.append(": ").append(how, end + 1);
  return text;
}

std::string Death(const std::string& how, std::string_view where) {
  return "worker died: " + OneLine(how, where);
}

}  // namespace

NodeRun::NodeRun(RunId id, SpooledRun* stored)
    : id_(id), stored_(stored), ranks_(stored->ranks.size()) {}

std::optional<std::size_t> NodeRun::Find(std::int32_t rank) const {
  const auto at = std::lower_bound(
      stored_->ranks.begin(), stored_->ranks.end(), rank,
      [](const SpooledRank& have, std::int32_t want) { return have.assigned.rank < want; });
  if (at == stored_->ranks.end() || at->assigned.rank != rank) return std::nullopt;
  return static_cast<std::size_t>(at - stored_->ranks.begin());
}

std::optional<Op> NodeRun::NextOpen(std::size_t index) const {
  const SpooledRank& stored = stored_->ranks[index];
  const OpSet open = stored.assigned.ops - stored.answered;
  if (open.empty()) return std::nullopt;
  return open.first();
}

bool NodeRun::Sendable(std::size_t index, Op op) const {
  const SpooledRank& stored = stored_->ranks[index];
  if (!stored.answered.Has(op)) return false;
  return op != stored.assigned.ops.last() || ranks_[index].phase == Phase::kFree;
}

Ms NodeRun::DeadlineOf(Op op) const {
  return op == Op::kAic ? stored_->assign.aic_deadline : stored_->assign.p2p_deadline;
}

RankAction NodeRun::Move(std::size_t index, RankTrigger trigger, const NodeStep& step) {
  RankPhase& phase = ranks_[index].phase;
  const auto move = RankTable().Take(phase, trigger);
  if (!move) {
    step.out->internal_errors.push_back("run " + std::to_string(id_) + " rank " +
                                        std::to_string(assigned(index).rank) + ": " +
                                        RankTable().NoMove(phase, trigger));
    return Action::kIgnore;
  }
  phase = move->to;
  return move->action;
}

bool NodeRun::Acts(std::size_t index, RankTrigger trigger) const {
  return RankTable().Acts(ranks_[index].phase, trigger);
}

// --- Outcomes ------------------------------------------------------------------------------------

void NodeRun::Answer(std::size_t index, Op op, OutcomeCode code, const std::string& detail,
                     const NodeStep& step) {
  const SpooledRank& stored = stored_->ranks[index];
  const Ms started = stored.begun.Has(op) ? stored.begun_at[op] : 0;
  step.Store(SpoolOutcome{{id_, stored.assigned.rank, op},
                          {code, Cut(detail, base::kDetailBytesMax), started, step.now}});
}

void NodeRun::AnswerOpen(std::size_t index, const RankEnd& end, const NodeStep& step) {
  if (discarded_) return;
  const std::optional<Op> first = NextOpen(index);
  if (!first) return;
  Answer(index, *first, end.code, end.detail, step);
  const std::string later =
      !end.later.empty() ? end.later : "not started after aic " + std::string(Name(end.code));
  while (const std::optional<Op> op = NextOpen(index)) {
    Answer(index, *op, OutcomeCode::kNotRun, later, step);
  }
}

void NodeRun::Judge(std::size_t index, OutcomeCode code, const std::string& detail,
                    const NodeStep& step) {
  NodeRank& rank = ranks_[index];
  const Op op = UnderWay(rank.phase).value();
  const Action action = Move(index, Trigger::kAnswered, step);
  std::string text = detail;
  if (action == Action::kRecordEarly && code == OutcomeCode::kOk) {
    code = OutcomeCode::kNotRun;
    text = "worker reported ok before p2p was started";
  }
  // After the deadline a fault that the worker reports still counts; ok and not_run do not.
  if (step.now > rank.until && (code == OutcomeCode::kOk || code == OutcomeCode::kNotRun)) {
    text = "answered " + std::string(Name(code)) + " " + base::Seconds(step.now - rank.until) +
           " after its deadline of " + base::Seconds(DeadlineOf(op));
    if (code == OutcomeCode::kNotRun && !detail.empty()) text += ": " + detail;
    code = OutcomeCode::kTimeout;
  }
  rank.blob.clear();
  if (code == OutcomeCode::kOk) {
    Answer(index, op, code, text, step);
  } else {
    AnswerOpen(index, {code, text, ""}, step);
  }
}

// --- Messages ------------------------------------------------------------------------------------

void NodeRun::Spawn(std::size_t index, const NodeStep& step) {
  if (Move(index, Trigger::kSpawn, step) != Action::kSpawn) return;
  ranks_[index].until = Later(step.now, kOpenMs);
  step.Do(SpawnWorker{KeyOf(index), assigned(index).device});
}

void NodeRun::Refuse(std::size_t index, const std::string& reason, const NodeStep& step) {
  AnswerOpen(index, {OutcomeCode::kNotRun, reason, reason}, step);
}

void NodeRun::TakeUp(const NodeStep& step) {
  const std::string during = "agent restarted during the test";
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!NextOpen(i)) continue;
    if (stored_->ranks[i].begun.empty()) {
      Refuse(i, stored_->started ? during : "agent restarted before the test began", step);
    } else if (Move(i, Trigger::kRestarted, step) == Action::kMakeSafe) {
      ranks_[i].end = {OutcomeCode::kNotRun, during, during};
      MakeDeviceSafe(i, step);
    }
  }
}

void NodeRun::Start(const NodeStep& step) {
  if (started() || wind_up_ || discarded_) return;
  step.Store(SpoolStarted{id_});
}

void NodeRun::End(const WindUp& wind_up) {
  if (!wind_up_) {
    wind_up_ = wind_up;
    return;
  }
  wind_up_->cancelled |= wind_up.cancelled;
  if (wind_up.kill_at >= wind_up_->kill_at) return;
  wind_up_->kill_at = wind_up.kill_at;
  wind_up_->killed = wind_up.killed;
}

void NodeRun::Discard(const NodeStep& step) {
  discarded_ = true;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (Move(i, Trigger::kDiscard, step) == Action::kKill) Kill(i, {}, step);
  }
}

bool NodeRun::Acknowledge(const OutcomeKey& key, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(key.rank);
  if (!index || !Sendable(*index, key.op) || stored_->ranks[*index].acked.Has(key.op)) return false;
  step.Store(SpoolAcked{key});
  return true;
}

// --- Workers -------------------------------------------------------------------------------------

void NodeRun::Opened(std::int32_t rank, const NodeStep& step) {
  if (const auto index = Find(rank)) Move(*index, Trigger::kOpened, step);
}

void NodeRun::Failed(std::int32_t rank, const std::string& reason, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(rank);
  if (!index || Move(*index, Trigger::kOpenFailed, step) != Action::kRefuseAndQuit) return;
  Refuse(*index, reason.empty() ? "worker could not open its device" : reason, step);
  Quit(*index, step);
}

void NodeRun::Progressed(const WorkerProgressed& said, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(said.worker.rank);
  if (!index || UnderWay(ranks_[*index].phase) != said.op) return;
  NodeRank& rank = ranks_[*index];
  if (step.now < rank.progress_from) return;
  rank.progress_from = Later(step.now, kProgressMs);
  step.Send(Progress{id_, said.worker.rank, said.op, false, std::clamp(said.percent, 0, 100),
                     Cut(said.text, kProgressBytesMax)});
}

void NodeRun::Prepared(const WorkerP2pPrepared& said, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(said.worker.rank);
  if (!index || !Acts(*index, Trigger::kPrepared)) return;
  NodeRank& rank = ranks_[*index];
  if (!said.error.empty()) {
    Judge(*index, OutcomeCode::kNotRun, said.error, step);
  } else if (step.now > rank.until) {
    Move(*index, Trigger::kAnswered, step);
    Answer(*index, Op::kP2p, OutcomeCode::kTimeout,
           "prepared p2p " + base::Seconds(step.now - rank.until) + " after its deadline of " +
               base::Seconds(DeadlineOf(Op::kP2p)),
           step);
  } else if (Move(*index, Trigger::kPrepared, step) == Action::kKeepBlob) {
    rank.blob = said.blob;
  }
}

void NodeRun::OpDone(const WorkerOpDone& said, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(said.worker.rank);
  if (!index || UnderWay(ranks_[*index].phase) != said.op) return;
  Judge(*index, said.code, said.detail, step);
}

RankEnd NodeRun::EndOfDeath(std::size_t index, const std::string& how, Ms now) const {
  const NodeRank& rank = ranks_[index];
  if (rank.phase == Phase::kOpening) {
    const std::string text = "worker did not open its device: " + OneLine(how);
    return {OutcomeCode::kNotRun, text, text};
  }
  const std::optional<Op> op = UnderWay(rank.phase);
  if (!op) {
    const std::optional<Op> next = NextOpen(index);
    const std::string text = Death(how, next ? " before " + std::string(Name(*next)) : "");
    return {OutcomeCode::kNotRun, text, text};
  }
  if (now > rank.until) {
    return {OutcomeCode::kTimeout,
            "no answer within " + base::Seconds(DeadlineOf(*op)) + ", then " + Death(how, ""), ""};
  }
  return {OutcomeCode::kNotRun, Death(how, " in " + std::string(Name(*op))),
          "not started after aic crash"};
}

void NodeRun::Gone(std::int32_t rank, const std::string& how, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(rank);
  if (!index) return;
  NodeRank& gone = ranks_[*index];
  RankEnd death = EndOfDeath(*index, how, step.now);  // by the phase before the move
  const bool begun = !stored_->ranks[*index].begun.empty();
  const Action action = Move(*index, begun ? Trigger::kGoneUnsafe : Trigger::kGone, step);
  if (action == Action::kIgnore) return;
  gone.blob.clear();
  switch (action) {
    case Action::kRecordDeath:
      AnswerOpen(*index, death, step);
      break;
    case Action::kRecordDecided:
      AnswerOpen(*index, std::exchange(gone.end, {}), step);
      break;
    case Action::kMakeSafeDeath:
      gone.end = std::move(death);
      MakeDeviceSafe(*index, step);
      break;
    case Action::kMakeSafe:
      MakeDeviceSafe(*index, step);
      break;
    default:  // kFree: all ops have their outcomes
      break;
  }
}

void NodeRun::Safe(const DeviceSafe& said, const NodeStep& step) {
  const std::optional<std::size_t> index = Find(said.worker.rank);
  if (!index || Move(*index, Trigger::kSafe, step) == Action::kIgnore) return;
  RankEnd end = std::exchange(ranks_[*index].end, {});
  if (said.voltage_changed) {
    end.code = OutcomeCode::kVoltageNotRestored;
    end.detail =
        "the device's voltage is still changed" +
        (said.detail.empty() ? "" : " (" + Cut(said.detail, base::kDetailBytesMax / 2) + ")") +
        ": " + end.detail;
  }
  AnswerOpen(*index, end, step);
}

void NodeRun::Quit(std::size_t index, const NodeStep& step) {
  ranks_[index].until = Later(step.now, kQuitMs);
  step.Do(QuitWorker{KeyOf(index)});
}

void NodeRun::Kill(std::size_t index, RankEnd end, const NodeStep& step) {
  ranks_[index].end = std::move(end);
  step.Do(KillWorker{KeyOf(index)});
}

void NodeRun::MakeDeviceSafe(std::size_t index, const NodeStep& step) {
  step.Do(MakeSafe{KeyOf(index), assigned(index).device,
                   std::max(kSafeMsMin, stored_->assign.kill_grace)});
}

}  // namespace assay::core::node
