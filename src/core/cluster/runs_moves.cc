// Makes the transitions of runs and parts, and carries out their actions.
#include "base/ids.h"
#include "core/cluster/runs.h"

namespace assay::core::cluster {

void Runs::Move(Run* run, RunTrigger trigger, const Stepping& step) {
  const auto move = RunTable().Take(run->state, trigger);
  if (!move) {
    step.Note("internal_error", run->job, run->id, "", RunTable().NoMove(run->state, trigger));
    return;
  }
  run->state = move->to;
  Act(run, move->action, step);
}

// Each action stores the run's header itself, once it has set all that goes with the new state.
void Runs::Act(Run* run, RunAction action, const Stepping& step) {
  switch (action) {
    case RunAction::kIgnore:
      break;
    case RunAction::kAssign:
      step.Store(PutRunHeader{*run});
      AssignParts(run, step);
      break;
    case RunAction::kNotify:
      Notify(run, step);
      break;
    case RunAction::kStart:
      StartParts(run, step);
      break;
    case RunAction::kAnswerCancelled:
      step.Store(PutRunHeader{*run});
      for (std::uint32_t part = 0; part < run->parts.size(); ++part) {
        AnswerPart(run, part, OutcomeCode::kNotRun, "cancelled", step);
      }
      break;
    case RunAction::kCancel:
      CancelParts(run, step);
      break;
    case RunAction::kEnd:
      Close(run, step);
      break;
    case RunAction::kPause:
    case RunAction::kStartPaused:
    case RunAction::kEndResume:
    case RunAction::kEndStop:
    case RunAction::kEndNotPaused:
    case RunAction::kClose:
      // Only planned rows have these actions.
      step.Note("internal_error", run->job, run->id, "",
                "not implemented: " + std::string(RunTable().Name(action)));
      break;
  }
}

void Runs::MovePart(Run* run, std::uint32_t index, PartTrigger trigger, const Stepping& step) {
  Part& part = run->parts[index];
  const auto move = PartTable().Take(part.state, trigger);
  if (!move) {
    step.Note("internal_error", run->job, run->id, part.node,
              PartTable().NoMove(part.state, trigger));
    return;
  }
  if (part.state != move->to) {
    part.state = move->to;
    step.Store(PutPart{run->id, index, part});
  }
  ActOnPart(run, index, move->action, step);
}

void Runs::MoveParts(Run* run, PartTrigger trigger, const Stepping& step) {
  for (std::uint32_t part = 0; part < run->parts.size(); ++part) MovePart(run, part, trigger, step);
}

void Runs::ActOnPart(Run* run, std::uint32_t part, PartAction action, const Stepping& step) {
  const auto link = LinkOf(run->parts[part]);
  const auto send = [&](CoordinatorMessage message) {
    if (link) step.Do(ToAgent{*link, std::move(message)});
  };
  const auto answer = [&](const std::string& detail) {
    AnswerPart(run, part, OutcomeCode::kNotRun, detail, step);
  };
  switch (action) {
    case PartAction::kIgnore:
    case PartAction::kRecord:
      break;
    case PartAction::kSendAssign:
      send(AssignOf(*run, part));
      break;
    case PartAction::kSendStart:
      send(Start{run->id});
      break;
    case PartAction::kSendCancel:
      send(Cancel{run->id});
      break;
    case PartAction::kAnswerLost:
      answer("the agent no longer has the test");
      break;
    case PartAction::kAnswerCancelled:
      answer("cancelled");
      break;
    case PartAction::kAnswerNotConnected:
      answer("executor not connected");
      break;
    case PartAction::kAnswerNotReady:
      answer(link ? "executor not ready within " + base::Seconds(settings_.start_allowance)
                  : "executor not connected");
      break;
    case PartAction::kRelease:
      ReleasePart(*run, part, step);
      break;
    case PartAction::kSendDiscard:
      // The agent's workers may still wait or run. An agent that is not connected gets Discard
      // after its next Hello.
      send(Discard{run->id});
      break;
  }
}

}  // namespace assay::core::cluster
