// Handles the cancelling and the deadlines of runs.
#include <algorithm>

#include "base/ids.h"
#include "core/cluster/runs.h"

namespace assay::core::cluster {
namespace {
constexpr Ms kHour = 3'600'000;
}  // namespace

std::optional<Refusal> Runs::AskCancel(RunId id, const std::string& who, const Stepping& step,
                                       RunState* state) {
  const std::string shown = "run " + std::to_string(id);
  if (!live_.contains(id)) {
    if (id > 0 && id < durable_.next_run) {
      return Refusal{Verdict::kWrongState, shown + " has already ended"};
    }
    return Refusal{Verdict::kNotFound, shown + " does not exist; `assay run list` shows the runs"};
  }
  Run& run = durable_.runs.at(id);
  if (RunTable().Acts(run.state, RunTrigger::kCancel)) {
    run.cancelled = true;
    if (run.executor == Executor::kAgent) {
      // Running ops get their grace period and then a kill; an agent that is not connected can
      // reconnect meanwhile.
      run.deadline = std::min(run.deadline, step.now + settings_.start_allowance + 3 * EndTime());
    }
    step.Note("run_cancel_asked", run.job, id, "", who.empty() ? "" : "by " + who);
    Move(&run, RunTrigger::kCancel, step);
    Sooner(run, Late(run.deadline));
    Conclude(&run, step);
  }
  *state = run.state;
  return std::nullopt;
}

void Runs::CancelParts(Run* run, const Stepping& step) {
  step.Store(PutRunHeader{*run});
  if (run->executor == Executor::kSubscriber) return;
  const Live& live = live_.at(run->id);
  for (std::uint32_t part = 0; part < run->parts.size(); ++part) {
    if (live.part_open[part] == 0) continue;
    const bool away = !LinkOf(run->parts[part]);
    MovePart(run, part, away ? PartTrigger::kCancelAway : PartTrigger::kCancel, step);
  }
}

Ms Runs::Late(Ms deadline) const { return std::max(deadline, judge_after_); }

void Runs::Sooner(const Run& run, Ms due) {
  Live& live = live_.at(run.id);
  live.due = std::min(live.due, due);
}

Ms Runs::Due(const Run& run) const {
  const Live& live = live_.at(run.id);
  Ms due = Late(run.deadline);
  if (run.state == RunState::kAccepted || run.state == RunState::kPreparing) {
    due = std::min(due, Late(run.start_by));
  }
  if (RunTable().Acts(run.state, RunTrigger::kNotify) &&
      streams_.HasListener(run.job, Topic::kNotify)) {
    due = std::min(due, run.notify_after);
  }
  if (run.state != RunState::kTesting) return due;
  for (std::uint32_t part = 0; part < run.parts.size(); ++part) {
    if (live.part_open[part] > 0 && run.parts[part].state != PartState::kStarted) {
      due = std::min(due, Late(run.started + settings_.start_allowance));
    }
  }
  for (const RankTest& rank : run.ranks) {
    if (!rank.done() && rank.deadline > 0) due = std::min(due, Late(rank.deadline));
  }
  return due;
}

Ms Runs::NextDeadline(Ms now) const {
  Ms next = now + kHour;
  for (const auto& [id, live] : live_) next = std::min(next, live.due);
  return next;
}

void Runs::Tick(const Stepping& step) {
  std::vector<RunId> due;
  for (const auto& [id, live] : live_) {
    if (step.now >= live.due) due.push_back(id);
  }
  for (const RunId id : due) {
    Run& run = durable_.runs.at(id);
    TickRun(&run, step);
    if (live_.contains(id)) live_.at(id).due = Due(run);
  }
}

void Runs::TickRun(Run* run, const Stepping& step) {
  const RunId id = run->id;
  SubscriberCame(run->job, step);
  if (run->state == RunState::kAccepted || run->state == RunState::kPreparing) {
    if (step.now >= Late(run->start_by)) TickBegin(run, step);
  } else if (run->state == RunState::kTesting) {
    if (step.now >= Late(run->started + settings_.start_allowance)) TickBegin(run, step);
    TickRanks(run, step);
  }
  if (step.now >= Late(run->deadline)) {
    const bool cancelling = run->state == RunState::kCancelling;
    if (run->started > 0 && run->open > 0) live_.at(id).reply_missing = true;
    for (std::uint32_t part = 0; part < run->parts.size(); ++part) {
      AnswerPart(run, part, cancelling ? OutcomeCode::kNotRun : OutcomeCode::kTimeout,
                 cancelling ? "cancelled" : "no answer by the deadline of the run", step);
    }
  }
  Conclude(run, step);
}

// Ends the parts that could not start in time as not run: their executors never got a start.
void Runs::TickBegin(Run* run, const Stepping& step) {
  const bool preparing = run->state == RunState::kPreparing;
  MoveParts(run, preparing ? PartTrigger::kPrepareOverdue : PartTrigger::kStartOverdue, step);
  StartIfReady(run, step);
}

void Runs::TickRanks(Run* run, const Stepping& step) {
  Live& live = live_.at(run->id);
  const std::string detail = run->executor == Executor::kAgent
                                 ? "no answer from the agent by the deadline"
                                 : "no reply from the subscriber by the deadline";
  for (RankTest& rank : run->ranks) {
    if (rank.done() || rank.deadline == 0 || step.now < Late(rank.deadline)) continue;
    for (const Op op : rank.ops - rank.answered) {
      SetOutcome({run, &live, &rank}, op, Outcome{OutcomeCode::kTimeout, detail, 0, step.now},
                 step);
    }
    if (run->executor == Executor::kAgent) live.late_parts.insert(rank.part);
    live.reply_missing = true;
  }
}

}  // namespace assay::core::cluster
