// Handles the replies of subscribers (TaskD). Partial replies add up, repeated replies change
// nothing, and replies count only between the notification and the end of the run (docs/wire.md 9).

#include "base/ids.h"
#include "base/number.h"
#include "base/text.h"
#include "core/cluster/runs.h"

namespace assay::core::cluster {
namespace {

constexpr std::size_t kProblemsShown = 5;

bool Waits(const Run& run) {
  return run.executor == Executor::kSubscriber &&
         (run.state == RunState::kTesting || run.state == RunState::kCancelling);
}

void AnswerCall(CallId call, Verdict verdict, std::string text, const Stepping& step) {
  Answer answer;
  answer.call = call;
  answer.verdict = verdict;
  answer.text = std::move(text);
  step.Do(std::move(answer));
}

}  // namespace

void Runs::SubscriberCame(const std::string& job, const Stepping& step) {
  const auto id = OpenRun(job);
  if (!id) return;
  Run& run = durable_.runs.at(*id);
  if (run.executor != Executor::kSubscriber || !streams_.HasListener(job, Topic::kNotify)) return;
  if (step.now >= run.notify_after) {
    Move(&run, RunTrigger::kNotify, step);
  } else {
    Sooner(run, run.notify_after);
  }
}

void Runs::Notify(Run* run, const Stepping& step) {
  BeginTesting(run, step);
  auto ranks = std::make_shared<std::vector<RankOps>>();
  ranks->reserve(run->ranks.size());
  for (const RankTest& rank : run->ranks) ranks->push_back({rank.rank, rank.ops});
  MoveParts(run, PartTrigger::kNotify, step);
  step.Note("run_notified", run->job, run->id, "", std::to_string(ranks->size()) + " ranks");
  step.Do(PublishNotify{run->job, run->id, std::move(ranks)});
}

void Runs::Reply(const Replied& reply, const Stepping& step) {
  const auto found = durable_.jobs.find(reply.job);
  if (found == durable_.jobs.end()) {
    AnswerCall(reply.call, Verdict::kNotRegistered,
               "jobId=" + base::Shown(reply.job) + " not registed", step);
    return;
  }
  Job& job = found->second;
  const auto id = OpenRun(reply.job);
  if (!id || !Waits(durable_.runs.at(*id))) {
    if (job.owing_until > step.now) {
      job.owing_until = 0;
      job.last_reply = step.now;
      step.Store(JobRecord(job));
      step.Note("late_reply", reply.job, job.last_run, "", "the missing reply arrived");
    }
    AnswerCall(reply.call, Verdict::kAccepted,
               "reply success, but no stress test of job:" + base::Shown(reply.job) +
                   " waits for it: no outcome was changed",
               step);
    return;
  }
  Run& run = durable_.runs.at(*id);
  std::vector<std::string> problems;
  for (const ReplyItem& item : reply.items) {
    if (auto problem = ReplyItemTo(&run, item, step)) problems.push_back(*std::move(problem));
  }
  if (problems.size() < reply.items.size()) {
    job.last_reply = step.now;
    step.Store(JobRecord(job));
  }
  if (problems.empty()) {
    AnswerCall(reply.call, Verdict::kAccepted, "reply success", step);
  } else {
    AnswerCall(
        reply.call, Verdict::kBadParameter,
        base::Shown(base::List(problems, kProblemsShown) + "; the rest of the reply was recorded",
                    900),
        step);
  }
  Conclude(&run, step);
}

std::optional<std::string> Runs::ReplyItemTo(Run* run, const ReplyItem& item,
                                             const Stepping& step) {
  const std::string in_run = " is not part of run " + std::to_string(run->id);
  const auto number = base::ParseNumber<std::int64_t>(item.rank);
  std::optional<Place> place;
  if (number && *number >= 0 && *number <= INT32_MAX) {
    place = Find(run->id, static_cast<std::int32_t>(*number));
  }
  if (!place) return "rank:" + base::Shown(item.rank, 20) + in_run;
  const std::string rank = "rank:" + base::Shown(item.rank, 20);
  const auto op_number = base::ParseNumber<std::int64_t>(item.op);
  const std::optional<Op> op = op_number ? OpFromWire(*op_number) : std::nullopt;
  if (!op || !place->rank->ops.Has(*op)) return rank + " op:" + base::Shown(item.op, 20) + in_run;
  const auto code_number = base::ParseNumber<std::int64_t>(item.code);
  const auto code = code_number ? OutcomeCodeFromInt(*code_number) : std::nullopt;
  if (!code) {
    return rank + " op:" + base::Shown(item.op, 20) + " code:" + base::Shown(item.code, 20) +
           " is not one of 0 to 4";
  }
  if (place->rank->answered.Has(*op)) return std::nullopt;
  SetOutcome(*place, *op,
             Outcome{*code, base::Shown(item.text, base::kDetailBytesMax - 3), 0, step.now}, step);
  if (place->rank->done()) {
    fleet_.Release({run->parts[place->rank->part].agent, place->rank->device}, run->id, step);
  }
  return std::nullopt;
}

}  // namespace assay::core::cluster
