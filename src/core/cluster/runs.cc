#include "core/cluster/runs.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "core/cluster/result_text.h"

namespace assay::core::cluster {
namespace {

std::string Summary(const Run& run) {
  std::int64_t by_code[kOutcomeCodes] = {};
  for (const RankTest& rank : run.ranks) {
    for (const Op op : rank.answered) {
      ++by_code[static_cast<std::size_t>(rank.outcomes[op].code)];
    }
  }
  std::string text = run.cancelled ? "cancelled: " : "";
  bool first = true;
  for (int code = 0; code < kOutcomeCodes; ++code) {
    if (by_code[code] == 0) continue;
    if (!first) text += ", ";
    first = false;
    text += std::to_string(by_code[code]) + " ";
    text += Name(static_cast<OutcomeCode>(code));
  }
  return text;
}

}  // namespace

PutJob JobRecord(const Job& job) {
  Job copy;
  static_cast<JobHeader&>(copy) = job;  // the text of the table stays as it is stored
  return PutJob{std::move(copy), false};
}

Runs::Runs(const Settings& settings, Durable* durable, Fleet* fleet, Streams* streams, Ms now)
    : settings_(settings),
      durable_(*durable),
      fleet_(*fleet),
      streams_(*streams),
      judge_after_(now + settings.resume_grace) {
  for (auto& [id, run] : durable_.runs) {
    if (run.state == RunState::kClosed) continue;
    run.deadline = std::max(run.deadline, judge_after_);
    TakeUp(&run);
  }
}

void Runs::TakeUp(Run* run) {
  Live live;
  live.part_ranks.resize(run->parts.size());
  live.part_open.resize(run->parts.size());
  for (std::uint32_t i = 0; i < run->parts.size(); ++i) {
    live.part_of_agent.emplace(run->parts[i].agent, i);
  }
  run->open = 0;
  for (std::uint32_t i = 0; i < run->ranks.size(); ++i) {
    const RankTest& rank = run->ranks[i];
    const int missing = rank.ops.size() - rank.answered.size();
    live.part_ranks[rank.part].push_back(i);
    live.part_open[rank.part] += missing;
    run->open += missing;
    const auto holder = fleet_.HolderOf({run->parts[rank.part].agent, rank.device});
    if (missing == 0 && run->executor == Executor::kAgent && holder == run->id) {
      live.late_parts.insert(rank.part);
    }
  }
  open_by_job_[run->job] = run->id;
  live_.emplace(run->id, std::move(live));
}

std::optional<RunId> Runs::OpenRun(std::string_view job) const {
  const auto it = open_by_job_.find(job);
  if (it == open_by_job_.end()) return std::nullopt;
  return it->second;
}

std::optional<Runs::Place> Runs::Find(RunId id, std::int32_t rank) {
  const auto live = live_.find(id);
  if (live == live_.end()) return std::nullopt;
  Run& run = durable_.runs.at(id);
  const auto it = std::lower_bound(
      run.ranks.begin(), run.ranks.end(), rank,
      [](const RankTest& test, std::int32_t wanted) { return test.rank < wanted; });
  if (it == run.ranks.end() || it->rank != rank) return std::nullopt;
  return Place{&run, &live->second, &*it};
}

// The time to end a worker, and also the time to make its device safe. An agent takes some seconds
// for each, even if kill_grace is short.
Ms Runs::EndTime() const {
  constexpr Ms kLeast = 10'000;
  return std::max(settings_.kill_grace, kLeast);
}

// The time allowed for these ops. An agent also gets, for each op, the time to end the worker and
// the time to make the device safe after a kill; a subscriber gets reply_allowance for its whole
// reply.
Ms Runs::Budget(Executor executor, OpSet ops) const {
  const bool agent = executor == Executor::kAgent;
  Ms budget = agent ? 0 : settings_.reply_allowance;
  for (const Op op : ops) {
    budget += op == Op::kAic ? settings_.aic_deadline : settings_.p2p_deadline;
    if (agent) budget += 2 * EndTime();
  }
  return budget;
}

RunId Runs::Create(const std::string& job_id, StressPlan plan, const Stepping& step) {
  Job& job = durable_.jobs.at(job_id);
  durable_.runs.erase(job.last_run);

  Run made;
  made.id = durable_.next_run++;
  made.job = job_id;
  made.executor = plan.executor;
  made.ops = plan.ops;
  made.created = step.now;
  made.notify_after = step.now;
  if (plan.executor == Executor::kSubscriber && job.last_reply > 0) {
    made.notify_after = std::max(step.now, job.last_reply + settings_.reply_quiet);
  }
  made.start_by = made.notify_after + settings_.start_allowance;
  made.parts = std::move(plan.parts);
  made.ranks = std::move(plan.ranks);
  made.rank_count = static_cast<std::int64_t>(made.ranks.size());
  for (const RankTest& rank : made.ranks) made.expected += rank.ops.size();
  // One start_allowance until all executors are ready, and one for an agent that is not connected
  // when the run starts.
  made.deadline = made.start_by + settings_.start_allowance + Budget(made.executor, made.ops);

  Run& run = durable_.runs.emplace(made.id, std::move(made)).first->second;
  TakeUp(&run);
  job.last_run = run.id;
  step.Store(PutRun{std::make_shared<const Run>(run)});
  step.Store(JobRecord(job));
  for (const RankTest& rank : run.ranks) {
    if (rank.device >= 0) fleet_.Lease({run.parts[rank.part].agent, rank.device}, run.id, step);
  }
  Begin(&run, step);
  live_.at(run.id).due = Due(run);
  return run.id;
}

void Runs::Begin(Run* run, const Stepping& step) {
  if (run->executor == Executor::kSubscriber) {
    SubscriberCame(run->job, step);
  } else {
    Move(run, RunTrigger::kAssign, step);
  }
}

void Runs::BeginTesting(Run* run, const Stepping& step) {
  run->started = step.now;
  const Ms deadline = step.now + settings_.start_allowance + Budget(run->executor, run->ops);
  for (RankTest& rank : run->ranks) {
    if (rank.deadline == 0) rank.deadline = deadline;
  }
  step.Store(PutStarts{run->id, deadline});
  step.Store(PutRunHeader{*run});
  Sooner(*run, Late(std::min(deadline, step.now + settings_.start_allowance)));
}

void Runs::SetOutcome(const Place& place, Op op, Outcome outcome, const Stepping& step) {
  RankTest& rank = *place.rank;
  const Part& part = place.run->parts[rank.part];
  if (outcome.code == OutcomeCode::kFaulty || outcome.code == OutcomeCode::kVoltageNotRestored) {
    step.Note(outcome.code == OutcomeCode::kFaulty ? "device_faulty" : "voltage_not_restored",
              place.run->job, place.run->id, part.node,
              "rank " + std::to_string(rank.rank) + ", device " + std::to_string(rank.device) +
                  ", " + std::string(Name(op)) + ": " + outcome.detail);
  }
  rank.answered.Add(op);
  --place.run->open;
  --place.live->part_open[rank.part];
  step.Store(PutOutcome{place.run->id, rank.rank, op, outcome});
  rank.outcomes[op] = std::move(outcome);
}

void Runs::AnswerPart(Run* run, std::uint32_t part, OutcomeCode code, const std::string& detail,
                      const Stepping& step) {
  Live& live = live_.at(run->id);
  if (live.part_open[part] == 0) return;
  for (const std::uint32_t index : live.part_ranks[part]) {
    RankTest& rank = run->ranks[index];
    for (const Op op : rank.ops - rank.answered) {
      SetOutcome({run, &live, &rank}, op, Outcome{code, detail, 0, step.now}, step);
    }
  }
  if (run->executor == Executor::kAgent) MovePart(run, part, PartTrigger::kAnswered, step);
}

void Runs::ReleasePart(const Run& run, std::uint32_t part, const Stepping& step) {
  for (const std::uint32_t index : live_.at(run.id).part_ranks[part]) {
    fleet_.Release({run.parts[part].agent, run.ranks[index].device}, run.id, step);
  }
}

void Runs::Conclude(Run* run, const Stepping& step) {
  if (run->open == 0) Move(run, RunTrigger::kAllAnswered, step);
}

void Runs::Close(Run* run, const Stepping& step) {
  Live& live = live_.at(run->id);
  run->ended = step.now;
  run->message = ResultText(*run);
  step.Store(PutRunHeader{*run});
  for (const std::uint32_t part : live.late_parts) {
    if (const auto link = LinkOf(run->parts[part])) step.Do(ToAgent{*link, Discard{run->id}});
  }
  if (run->executor == Executor::kSubscriber) {
    for (std::uint32_t part = 0; part < run->parts.size(); ++part) ReleasePart(*run, part, step);
    if (live.reply_missing) {
      Job& job = durable_.jobs.at(run->job);
      job.owing_until = step.now + settings_.owing;
      step.Store(JobRecord(job));
    }
  }
  step.Note("run_ended", run->job, run->id, "", Summary(*run));
  streams_.PublishResult(*run, step);
  open_by_job_.erase(run->job);
  live_.erase(run->id);
  // The store has the outcomes; the header remains for late subscribers.
  run->ranks = {};
  run->parts = {};
}

}  // namespace assay::core::cluster
