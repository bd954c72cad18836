// The life of stress tests, from acceptance to the one result: assigning, starting, collecting
// outcomes, deadlines, cancelling.
//
// Invariants:
// 1. A job has at most one open run. An outcome, once there, never changes. A run ends by its
//    deadline, or within resume_grace after a restart that came later.
// 2. Ranks are told to start, and subscribers notified, only by a step whose records say so: what
//    is not recorded as started was never started, so "not started" is safely code 1.
// 3. A device's lease ends when whoever executes on it says that nothing holds it: with a rank's
//    last outcome from its agent, with Discarded, with a Hello that does not hold the run; for
//    subscribers with the reply or the run's end.
//
// Thread safety: none; the cluster owns it.
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

namespace assay {

class Runs {
 public:
  // REQUIRES: the references outlive it. Takes up the open runs of `durable`; nothing is judged
  // late before now + resume_grace.
  Runs(const Settings& settings, Durable* durable, Fleet* fleet, Streams* streams, Ms now);

  // Records the run and begins it. REQUIRES: the job has no open run.
  RunId Create(const std::string& job, StressPlan plan, const Stepping& step);

  std::optional<RunId> OpenRun(std::string_view job) const;
  bool AgentInUse(const std::string& node) const;  // an open run waits for it

  void Reply(const Replied& reply, const Stepping& step);
  void SubscriberCame(const std::string& job, const Stepping& step);

  void AgentCame(const std::string& node, LinkId link, const std::vector<HeldRun>& held,
                 const Stepping& step);
  void AgentReady(const Node& node, LinkId link, RunId run, const Stepping& step);
  void AgentProgressed(const Node& node, const Progress& progress, const Stepping& step);
  void AgentAnswered(const Node& node, LinkId link, const Outcomes& outcomes, const Stepping& step);
  void AgentDiscarded(const Node& node, RunId run, const Stepping& step);

  // kOk with the state it is in now, or why not.
  Status AskCancel(RunId run, const std::string& who, const Stepping& step, RunState* state);

  void Tick(const Stepping& step);
  Ms NextDeadline(Ms now) const;

 private:
  // What is derived from an open Run.
  struct Live {
    std::vector<std::vector<std::uint32_t>> part_ranks;  // [part] -> indexes into ranks
    std::vector<std::int64_t> part_open;                 // [part] -> outcomes still missing
    std::map<std::string, std::uint32_t, std::less<>> part_of_agent;
    // A rank was answered in its agent's place and holds its device still: the agent must let go
    // in the end.
    std::set<std::uint32_t> late_parts;
    bool reply_missing = false;  // its subscriber was notified and never answered in full
    Ms due = 0;                  // not later than what Tick has to do next
  };
  struct Place {  // one rank of an open run
    Run* run;
    Live* live;
    RankTest* rank;
  };

  // runs.cc: beginning and ending
  void TakeUp(Run* run);
  std::optional<Place> Find(RunId run, std::int32_t rank);
  void Move(Run* run, RunTrigger trigger, const Stepping& step);
  void Begin(Run* run, const Stepping& step);
  void Notify(Run* run, const Stepping& step);
  void BeginTesting(Run* run, RunTrigger trigger, const Stepping& step);
  void SetPart(Run* run, std::uint32_t part, PartState state, const Stepping& step);
  void SetOutcome(const Place& place, Op op, Outcome outcome, const Stepping& step);
  void AnswerPart(Run* run, std::uint32_t part, OutcomeCode code, const std::string& detail,
                  const Stepping& step);
  void ReleasePart(const Run& run, std::uint32_t part, const Stepping& step);
  void Conclude(Run* run, const Stepping& step);  // if nothing is missing; `run` is then closed
  Ms EndTime() const;
  Ms Budget(Executor executor, OpSet ops) const;

  // runs_agents.cc: who executes on nodes
  std::optional<std::uint32_t> PartOf(const Run& run, const Node& node) const;
  std::optional<LinkId> LinkOf(const Part& part) const;
  bool LeasedToSubscriber(RunId run) const;
  void SendAssign(Run* run, std::uint32_t part, LinkId link, const Stepping& step);
  void StartIfReady(Run* run, const Stepping& step);
  void StartPart(Run* run, std::uint32_t part, LinkId link, const Stepping& step);
  void ResumePart(Run* run, std::uint32_t part, LinkId link, const HeldRun* held,
                  const Stepping& step);

  // runs_replies.cc: who executes inside the job
  std::optional<std::string> ReplyItemTo(Run* run, const ReplyItem& item, const Stepping& step);

  // runs_time.cc: cancelling and deadlines
  void CancelParts(Run* run, const Stepping& step);
  void TickRun(Run* run, const Stepping& step);
  void TickBegin(Run* run, const Stepping& step);
  void TickRanks(Run* run, const Stepping& step);
  Ms Late(Ms deadline) const;  // when passing it is judged
  Ms Due(const Run& run) const;
  void Sooner(const Run& run, Ms due);

  const Settings settings_;
  Durable& durable_;
  Fleet& fleet_;
  Streams& streams_;
  const Ms judge_after_;
  std::map<RunId, Live> live_;  // open runs
  std::map<std::string, RunId, std::less<>> open_by_job_;
};

// A job as a record that leaves its stored table alone, without copying the table's text.
PutJob JobRecord(const Job& job);

}  // namespace assay
