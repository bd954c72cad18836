// Handles the messages of agents about their runs.
#include <algorithm>

#include "core/cluster/runs.h"

namespace assay::core::cluster {

std::optional<std::uint32_t> Runs::PartOf(const Run& run, const Node& node) const {
  if (run.executor != Executor::kAgent) return std::nullopt;
  const Live& live = live_.at(run.id);
  const auto it = live.part_of_agent.find(node.name);
  if (it == live.part_of_agent.end()) return std::nullopt;
  // An agent that took over the name does not have this part.
  if (run.parts[it->second].identity != node.identity) return std::nullopt;
  return it->second;
}

std::optional<LinkId> Runs::LinkOf(const Part& part) const {
  const auto link = fleet_.LinkOf(part.agent);
  if (!link || fleet_.NodeOf(*link)->identity != part.identity) return std::nullopt;
  return link;
}

bool Runs::AgentInUse(const std::string& node) const {
  return std::any_of(live_.begin(), live_.end(), [&](const auto& entry) {
    const auto part = entry.second.part_of_agent.find(node);
    return part != entry.second.part_of_agent.end() && entry.second.part_open[part->second] > 0;
  });
}

Assign Runs::AssignOf(const Run& run, std::uint32_t part) const {
  Assign assign;
  assign.run = run.id;
  assign.job = run.job;
  assign.aic_deadline = settings_.aic_deadline;
  assign.p2p_deadline = settings_.p2p_deadline;
  assign.kill_grace = settings_.kill_grace;
  for (const std::uint32_t index : live_.at(run.id).part_ranks[part]) {
    const RankTest& rank = run.ranks[index];
    assign.ranks.push_back({rank.rank, rank.device, rank.ops});
  }
  return assign;
}

void Runs::AssignParts(Run* run, const Stepping& step) {
  for (std::uint32_t part = 0; part < run->parts.size(); ++part) {
    // A part without a link is assigned when its agent has reconnected.
    if (LinkOf(run->parts[part])) MovePart(run, part, PartTrigger::kAssign, step);
  }
}

void Runs::StartIfReady(Run* run, const Stepping& step) {
  // Outcomes of a run that is testing also lead here; they need no look at all parts.
  if (!RunTable().Acts(run->state, RunTrigger::kAllReady) || run->open == 0) return;
  const Live& live = live_.at(run->id);
  for (std::uint32_t part = 0; part < run->parts.size(); ++part) {
    if (live.part_open[part] > 0 && run->parts[part].state != PartState::kReady) return;
  }
  Move(run, RunTrigger::kAllReady, step);
}

void Runs::StartParts(Run* run, const Stepping& step) {
  BeginTesting(run, step);
  step.Note("run_started", run->job, run->id, "", "");
  const Live& live = live_.at(run->id);
  for (std::uint32_t part = 0; part < run->parts.size(); ++part) {
    // A part without a link starts when its agent has reconnected.
    if (live.part_open[part] > 0 && LinkOf(run->parts[part])) {
      MovePart(run, part, PartTrigger::kStart, step);
    }
  }
}

void Runs::AgentCame(const std::string& name, LinkId link, const std::vector<HeldRun>& held,
                     const Stepping& step) {
  const Node& node = *fleet_.NodeOf(link);
  std::map<RunId, const HeldRun*> holds;
  for (const HeldRun& one : held) holds.emplace(one.run, &one);

  std::set<RunId> wanted;
  std::vector<RunId> open;
  for (const auto& [id, live] : live_) open.push_back(id);
  for (const RunId id : open) {
    Run& run = durable_.runs.at(id);
    const auto part = PartOf(run, node);
    if (!part || live_.at(id).part_open[*part] == 0) continue;
    const auto it = holds.find(id);
    ResumePart(&run, *part, it == holds.end() ? nullptr : it->second, step);
    if (live_.at(id).part_open[*part] > 0) wanted.insert(id);
    StartIfReady(&run, step);
    Conclude(&run, step);
  }
  for (const HeldRun& one : held) {
    if (!wanted.contains(one.run)) step.Do(ToAgent{link, Discard{one.run}});
  }
  fleet_.ReleaseUnless(
      name,
      [&](RunId run) {
        return holds.contains(run) || wanted.contains(run) || LeasedToSubscriber(run);
      },
      step);
}

bool Runs::LeasedToSubscriber(RunId run) const {
  return live_.contains(run) && durable_.runs.at(run).executor == Executor::kSubscriber;
}

void Runs::ResumePart(Run* run, std::uint32_t part, const HeldRun* held, const Stepping& step) {
  const bool cancelling = run->state == RunState::kCancelling;
  if (held == nullptr) {
    MovePart(run, part, cancelling ? PartTrigger::kCancelNotHeld : PartTrigger::kReassign, step);
  } else if (cancelling) {
    MovePart(run, part, PartTrigger::kCancel, step);
  } else if (held->started) {
    MovePart(run, part, PartTrigger::kHeldStarted, step);
  } else if (run->state == RunState::kTesting) {
    MovePart(run, part, PartTrigger::kHeldReady, step);
  }
}

void Runs::AgentReady(const Node& node, LinkId link, RunId id, const Stepping& step) {
  const auto live = live_.find(id);
  const auto part = live == live_.end() ? std::nullopt : PartOf(durable_.runs.at(id), node);
  if (!part || live->second.part_open[*part] == 0) {
    step.Do(ToAgent{link, Discard{id}});
    return;
  }
  Run& run = durable_.runs.at(id);
  switch (run.state) {
    case RunState::kPreparing:
      MovePart(&run, *part, PartTrigger::kReady, step);
      StartIfReady(&run, step);
      break;
    case RunState::kTesting:
      MovePart(&run, *part, PartTrigger::kStart, step);
      break;
    case RunState::kCancelling:
      MovePart(&run, *part, PartTrigger::kCancel, step);
      break;
    default:
      break;
  }
}

void Runs::AgentProgressed(const Node& node, const Progress& progress, const Stepping& step) {
  if (!progress.started) return;  // a percentage changes no state
  const auto place = Find(progress.run, progress.rank);
  if (!place) return;
  const auto part = PartOf(*place->run, node);
  RankTest& rank = *place->rank;
  if (!part || rank.part != *part || !rank.ops.Has(progress.op)) return;
  if (rank.answered.Has(progress.op) || rank.begun.Has(progress.op)) return;
  rank.begun.Add(progress.op);
  OpSet left;
  for (const Op op : rank.ops) {
    if (op >= progress.op) left.Add(op);
  }
  rank.deadline = std::min(place->run->deadline, step.now + Budget(Executor::kAgent, left));
  step.Store(PutRank{progress.run, rank.rank, rank.begun, rank.deadline});
  Sooner(*place->run, Late(rank.deadline));
}

void Runs::AgentAnswered(const Node& node, LinkId link, const Outcomes& outcomes,
                         const Stepping& step) {
  Ack ack;
  std::set<RunId> touched;
  for (const OutcomeReport& report : outcomes.reports) {
    ack.keys.push_back({report.run, report.rank, report.op});
    const auto place = Find(report.run, report.rank);
    if (!place) continue;
    const auto part = PartOf(*place->run, node);
    RankTest& rank = *place->rank;
    if (!part || rank.part != *part || !rank.ops.Has(report.op)) continue;
    if (rank.answered.Has(report.op)) {
      // The coordinator may have recorded a timeout already; the device is free once the agent
      // reports its own last outcome.
      if (report.op == rank.ops.last()) fleet_.Release({node.name, rank.device}, report.run, step);
      continue;
    }
    Outcome outcome{report.code, report.detail, 0, step.now - std::max<Ms>(report.finished_ago, 0)};
    if (report.started_ago >= 0) outcome.started = step.now - report.started_ago;
    SetOutcome(*place, report.op, std::move(outcome), step);
    touched.insert(report.run);
    if (rank.done()) fleet_.Release({node.name, rank.device}, report.run, step);
  }
  if (!ack.keys.empty()) step.Do(ToAgent{link, std::move(ack)});
  for (const RunId id : touched) {
    Run& run = durable_.runs.at(id);
    StartIfReady(&run, step);
    Conclude(&run, step);
  }
}

void Runs::AgentDiscarded(const Node& node, RunId id, const Stepping& step) {
  if (live_.contains(id)) {
    Run& run = durable_.runs.at(id);
    if (const auto part = PartOf(run, node)) {
      AnswerPart(&run, *part, OutcomeCode::kNotRun, "the agent no longer has the test", step);
      ReleasePart(run, *part, step);
      StartIfReady(&run, step);
      Conclude(&run, step);
    }
  }
  fleet_.ReleaseUnless(
      node.name, [&](RunId run) { return run != id; }, step);
}

}  // namespace assay::core::cluster
