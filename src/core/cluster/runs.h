// The life cycle of stress tests, from acceptance to the result: assigning, starting, collecting
// outcomes, deadlines, cancelling.
//
// Run states and part states change only in runs_moves.cc, by the tables in core/run_state.h and
// core/part_state.h. The other files turn events into triggers.
//
// Thread safety: none; the cluster owns it.
//
// Invariants:
// 1. A job has at most one open run. A recorded outcome never changes. A run ends by its deadline,
//    or within resume_grace after a restart that came later.
// 2. A step that starts ranks or notifies subscribers also records it. A rank that is not recorded
//    as started was therefore never started, so code 1 ("not run") is correct for it.
// 3. The lease of a device ends when its executor reports the device free. Agents do so with the
//    last outcome of a rank, with Discarded, or with a Hello that does not list the run;
//    subscribers with the reply. The end of a subscriber's run also ends its leases.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/fleet.h"
#include "core/cluster/step.h"
#include "core/cluster/streams.h"
#include "core/cluster/stress_plan.h"
#include "core/run_state.h"
#include "core/settings.h"

namespace assay::core::cluster {

class Runs {
 public:
  // Resumes the open runs of `durable`. Enforces no deadline before now + resume_grace.
  // REQUIRES: the pointers outlive it.
  Runs(const Settings& settings, Durable* durable, Fleet* fleet, Streams* streams, Ms now);

  // Records and starts a run. REQUIRES: the job has no open run.
  RunId Create(const std::string& job, StressPlan plan, const Stepping& step);

  std::optional<RunId> OpenRun(std::string_view job) const;
  bool AgentInUse(const std::string& node) const;  // an open run waits for this agent's outcomes

  void Reply(const Replied& reply, const Stepping& step);
  void SubscriberCame(const std::string& job, const Stepping& step);

  void AgentCame(const std::string& node, LinkId link, const std::vector<HeldRun>& held,
                 const Stepping& step);
  void AgentReady(const Node& node, LinkId link, RunId run, const Stepping& step);
  void AgentProgressed(const Node& node, const Progress& progress, const Stepping& step);
  void AgentAnswered(const Node& node, LinkId link, const Outcomes& outcomes, const Stepping& step);
  void AgentDiscarded(const Node& node, RunId run, const Stepping& step);

  // Sets *state to the run's state, or returns why the run cannot be cancelled.
  std::optional<Refusal> AskCancel(RunId run, const std::string& who, const Stepping& step,
                                   RunState* state);

  void Tick(const Stepping& step);
  Ms NextDeadline(Ms now) const;

 private:
  // State derived from an open Run.
  struct Live {
    std::vector<std::vector<std::uint32_t>> part_ranks;  // [part] -> indexes into ranks
    std::vector<std::int64_t> part_open;                 // [part] -> missing outcomes
    std::map<std::string, std::uint32_t, std::less<>> part_of_agent;
    // Parts with a rank that has a timeout outcome from the coordinator but still holds its device:
    // at the end of the run the agent gets Discard.
    std::set<std::uint32_t> late_parts;
    bool reply_missing = false;  // the subscriber was notified but did not reply for all ranks
    Ms due = 0;                  // when Tick() must next handle the run, or earlier
  };
  // One rank of an open run.
  struct Place {
    Run* run;
    Live* live;
    RankTest* rank;
  };

  // runs.cc: start and end
  void TakeUp(Run* run);
  std::optional<Place> Find(RunId run, std::int32_t rank);
  void Begin(Run* run, const Stepping& step);
  void BeginTesting(Run* run, const Stepping& step);
  void SetOutcome(const Place& place, Op op, Outcome outcome, const Stepping& step);
  void AnswerPart(Run* run, std::uint32_t part, OutcomeCode code, const std::string& detail,
                  const Stepping& step);
  void ReleasePart(const Run& run, std::uint32_t part, const Stepping& step);
  // Ends the run if no outcome is missing.
  void Conclude(Run* run, const Stepping& step);
  void Close(Run* run, const Stepping& step);
  Ms EndTime() const;
  Ms Budget(Executor executor, OpSet ops) const;

  // runs_moves.cc: make the transition and carry out its action
  void Move(Run* run, RunTrigger trigger, const Stepping& step);
  void MovePart(Run* run, std::uint32_t part, PartTrigger trigger, const Stepping& step);
  void MoveParts(Run* run, PartTrigger trigger, const Stepping& step);  // all parts
  void Act(Run* run, RunAction action, const Stepping& step);
  void ActOnPart(Run* run, std::uint32_t part, PartAction action, const Stepping& step);

  // runs_agents.cc: execution by agents
  std::optional<std::uint32_t> PartOf(const Run& run, const Node& node) const;
  std::optional<LinkId> LinkOf(const Part& part) const;
  bool LeasedToSubscriber(RunId run) const;
  Assign AssignOf(const Run& run, std::uint32_t part) const;
  void AssignParts(Run* run, const Stepping& step);
  void StartIfReady(Run* run, const Stepping& step);
  void StartParts(Run* run, const Stepping& step);
  void ResumePart(Run* run, std::uint32_t part, const HeldRun* held, const Stepping& step);

  // runs_replies.cc: execution by the job's subscribers
  void Notify(Run* run, const Stepping& step);
  std::optional<std::string> ReplyItemTo(Run* run, const ReplyItem& item, const Stepping& step);

  // runs_time.cc: cancelling and deadlines
  void CancelParts(Run* run, const Stepping& step);
  void TickRun(Run* run, const Stepping& step);
  void TickBegin(Run* run, const Stepping& step);
  void TickRanks(Run* run, const Stepping& step);
  Ms Late(Ms deadline) const;           // when `deadline` is enforced: not before resume_grace
  Ms Due(const Run& run) const;         // when Tick() must next handle the run
  void Sooner(const Run& run, Ms due);  // handle the run no later than at `due`

  const Settings settings_;
  Durable& durable_;
  Fleet& fleet_;
  Streams& streams_;
  const Ms judge_after_;
  std::map<RunId, Live> live_;  // open runs
  std::map<std::string, RunId, std::less<>> open_by_job_;
};

// Makes a record of the job that leaves the stored table unchanged, without copying the table's
// text.
PutJob JobRecord(const Job& job);

}  // namespace assay::core::cluster
