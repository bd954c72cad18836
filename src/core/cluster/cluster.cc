#include "core/cluster/cluster.h"

#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/text.h"
#include "core/cluster/clients.h"
#include "core/cluster/fleet.h"
#include "core/cluster/job_file_registry.h"
#include "core/cluster/job_signals.h"
#include "core/cluster/runs.h"
#include "core/cluster/streams.h"
#include "core/cluster/stress_plan.h"

namespace assay::core::cluster {

class Cluster::Impl {
 public:
  Impl(const Settings& settings, Durable durable, Ms now)
      : settings_(settings),
        durable_(std::move(durable)),
        lost_at_start_(AttachedNodes(durable_)),
        fleet_(&durable_.nodes, &durable_.leases, settings.agent_timeout, now),
        runs_(settings, &durable_, &fleet_, &streams_, now),
        clients_(settings_),
        signals_(settings_, &durable_),
        files_(&durable_) {}

  void Step(const Event& event, const Stepping& step) {
    for (const std::string& node : lost_at_start_) {
      step.Store(PutNode{durable_.nodes.find(node)->second, false});
      step.Note("node_lost", "", kNoRun, node, "the coordinator restarted");
    }
    lost_at_start_.clear();
    if (!std::exchange(all_published_, true)) signals_.PublishAll(step);
    std::visit([&](const auto& happened) { On(happened, step); }, event);
  }

  Ms NextDeadline(Ms now) const {
    return clients_.NextDeadline(signals_.NextDeadline(runs_.NextDeadline(now)));
  }
  const Durable& durable() const { return durable_; }

 private:
  // --- Stress tests -------------------------------------------------------------------------

  void On(const StressRequested& request, const Stepping& step) {
    StressContext context;
    context.jobs = &durable_.jobs;
    context.fleet = &fleet_;
    context.open_run = runs_.OpenRun(request.job);
    context.subscriber_attached = streams_.HasListener(request.job, Topic::kNotify);
    context.now = step.now;
    auto judged = PlanStress(request, context);
    if (const auto* refusal = std::get_if<Refusal>(&judged)) {
      Refuse(request.call, *refusal, step);
      return;
    }
    auto& plan = std::get<StressPlan>(judged);
    Answer answer;
    answer.call = request.call;
    answer.text = "stress test operation was successfully distributed";
    answer.executor = plan.executor;
    answer.ops = plan.ops;
    answer.plan = PlanFor(plan);
    if (!request.check) {
      answer.run = runs_.Create(request.job, std::move(plan), step);
      step.Note("run_accepted", request.job, answer.run, "", "requested by " + request.caller.who);
    }
    step.Do(std::move(answer));
  }

  void On(const Replied& reply, const Stepping& step) { runs_.Reply(reply, step); }

  void On(const RunCancelled& asked, const Stepping& step) {
    Answer answer;
    answer.call = asked.call;
    answer.run = asked.run;
    if (auto refusal = runs_.AskCancel(asked.run, asked.caller.who, step, &answer.run_state)) {
      answer.verdict = refusal->verdict;
      answer.text = std::move(refusal->text);
    }
    step.Do(std::move(answer));
  }

  // --- Streams ------------------------------------------------------------------------------

  void On(const StreamOpened& opened, const Stepping& step) {
    if (!streams_.Open(opened, step)) return;
    if (IsSignal(opened.topic)) {
      Clients::Admission admission = clients_.Subscribe(opened);
      if (admission.replaced) {
        streams_.End(*admission.replaced, SubscriptionReplaced(opened.client), step);
      }
      if (admission.status.ok()) {
        streams_.Attach(opened.stream, step);
      } else {
        streams_.Refuse(opened.stream, std::move(admission.status), step);
      }
      return;
    }
    const auto job = durable_.jobs.find(opened.job);
    const std::string shown = "jobId=" + base::Shown(opened.job);
    if (opened.topic == Topic::kNotify) {
      if (job == durable_.jobs.end()) {
        streams_.Refuse(opened.stream,
                        base::NotFoundError(shown + " not registed, please wait agent register"),
                        step);
        return;
      }
      streams_.Attach(opened.stream, step);
      runs_.SubscriberCame(opened.job, step);
      return;
    }
    if (job == durable_.jobs.end()) {
      streams_.Refuse(opened.stream, base::NotFoundError(shown + " not registed"), step);
      return;
    }
    if (runs_.OpenRun(opened.job)) {
      streams_.Attach(opened.stream, step);
      return;
    }
    const auto run = durable_.runs.find(job->second.last_run);
    if (run == durable_.runs.end() || step.now - run->second.ended > settings_.result_replay) {
      streams_.Refuse(opened.stream, base::NotFoundError(shown + " is not stress test"), step);
      return;
    }
    streams_.Replay(opened.stream, run->second, step);
  }

  void On(const StreamClosed& closed, const Stepping& step) {
    clients_.StreamClosed(closed.stream, step);
    streams_.Close(closed.stream, step);
  }

  void On(const ClientRegistered& asked, const Stepping& step) { clients_.Register(asked, step); }

  // --- Agents -------------------------------------------------------------------------------

  void On(const LinkMessage& said, const Stepping& step) {
    links_.insert(said.link);
    if (const auto* hello = std::get_if<Hello>(&said.message)) {
      OnHello(said.link, *hello, said.caller, step);
      return;
    }
    const Node* node = fleet_.NodeOf(said.link);
    if (node == nullptr) {
      // The link was just refused or replaced, or it never sent Hello.
      step.Do(
          EndLink{said.link, base::InvalidError("the first message of an agent must be Hello")});
      return;
    }
    if (const auto* ready = std::get_if<Ready>(&said.message)) {
      runs_.AgentReady(*node, said.link, ready->run, step);
    } else if (const auto* progress = std::get_if<Progress>(&said.message)) {
      runs_.AgentProgressed(*node, *progress, step);
    } else if (const auto* outcomes = std::get_if<Outcomes>(&said.message)) {
      runs_.AgentAnswered(*node, said.link, *outcomes, step);
    } else if (const auto* discarded = std::get_if<Discarded>(&said.message)) {
      runs_.AgentDiscarded(*node, discarded->run, step);
    }
  }

  void OnHello(LinkId link, const Hello& hello, const Caller& caller, const Stepping& step) {
    if (hello.protocol != kFleetProtocol) {
      step.Do(EndLink{
          link, base::InvalidError("node " + base::Quoted(hello.node.name) +
                                   " uses agent protocol " + std::to_string(hello.protocol) +
                                   ", but this coordinator uses " + std::to_string(kFleetProtocol) +
                                   "; install the same version on both")});
      return;
    }
    const auto node = fleet_.Attach(link, hello.node, caller, step);
    if (!node) return;
    step.Do(ToAgent{link, Welcome{settings_.heartbeat}});
    runs_.AgentCame(*node, link, hello.held, step);
  }

  void On(const LinkClosed& closed, const Stepping& step) {
    if (links_.erase(closed.link) == 0) {
      step.Do(ReportDefect{"link " + std::to_string(closed.link) + " was closed but is not open"});
      return;
    }
    fleet_.Detach(closed.link, step);
    step.Do(EndLink{closed.link, base::Status::Ok()});
  }

  void On(const NodeForgotten& asked, const Stepping& step) {
    if (runs_.AgentInUse(asked.node)) {
      Refuse(asked.call,
             Refusal{Verdict::kBusy,
                     "node " + base::Quoted(asked.node) +
                         " is part of an open run; cancel the run or wait for its end"},
             step);
      return;
    }
    if (const auto problem = fleet_.Forget(asked.node, asked.caller, step)) {
      Refuse(asked.call, *problem, step);
      return;
    }
    Accept(asked.call, step);
  }

  // --- Jobs ---------------------------------------------------------------------------------

  void On(const JobApplied& applied, const Stepping& step) {
    const JobSpec& spec = applied.spec;
    if (const auto problem = base::IdProblem("job", spec.id)) {
      Refuse(applied.call, Refusal{Verdict::kBadParameter, *problem}, step);
      return;
    }
    if (files_.Knows(applied)) {
      Accept(applied.call, step);
      return;
    }
    const auto known = durable_.jobs.find(spec.id);
    const bool is_new = known == durable_.jobs.end();
    const bool table_changed = is_new || known->second.table_text != applied.table_text;
    if (table_changed && Busy(applied.call, spec.id, "its rank table cannot change", step)) return;

    Job job = is_new ? Job() : known->second;
    job.spec = spec;
    const bool ready = !applied.table->ranks.empty();
    if (applied.state) {
      job.state = *applied.state;
    } else if (is_new || (job.state == JobState::kPending && ready)) {
      job.state = ready ? JobState::kRunning : JobState::kPending;
    }
    if (table_changed) {
      job.table_text = applied.table_text;
      job.table = applied.table;
      job.hccl = applied.hccl;
    }
    Answer answer;
    answer.call = applied.call;
    answer.changed =
        table_changed || job.spec != known->second.spec || job.state != known->second.state;
    if (answer.changed) {
      if (is_new) job.created = step.now;
      job.updated = step.now;
      NoteEnd(is_new ? JobState::kPending : known->second.state, step.now, &job);
      step.Note(is_new ? "job_applied" : "job_changed", spec.id, kNoRun, "",
                std::to_string(job.table->ranks.size()) + " ranks, " +
                    std::string(Name(job.state)) + ", by " + applied.caller.who);
      step.Store(table_changed ? PutJob{job, true} : JobRecord(job));
      signals_.Changed(job, step);
      durable_.jobs.insert_or_assign(spec.id, std::move(job));
    }
    files_.Applied(applied, step);
    step.Do(std::move(answer));
  }

  void On(const JobStateSet& asked, const Stepping& step) {
    const auto job = durable_.jobs.find(asked.job);
    if (job == durable_.jobs.end()) {
      RefuseUnknownJob(asked.call, asked.job, step);
      return;
    }
    const bool changed = job->second.state != asked.state;
    if (changed) {
      const JobState before = std::exchange(job->second.state, asked.state);
      job->second.updated = step.now;
      NoteEnd(before, step.now, &job->second);
      step.Store(JobRecord(job->second));
      step.Note("job_state", asked.job, kNoRun, "",
                std::string(Name(asked.state)) + ", by " + asked.caller.who);
      signals_.Changed(job->second, step);
    }
    Accept(asked.call, step, changed);
  }

  void On(const JobDeleted& asked, const Stepping& step) {
    const auto job = durable_.jobs.find(asked.job);
    if (job == durable_.jobs.end()) {
      RefuseUnknownJob(asked.call, asked.job, step);
      return;
    }
    if (Busy(asked.call, asked.job, "it cannot be deleted", step)) return;
    Answer answer;
    answer.call = asked.call;
    answer.text = files_.Deleted(asked.job, step);
    Delete(job, "by " + asked.caller.who + (answer.text.empty() ? "" : "; " + answer.text), step);
    step.Do(std::move(answer));
  }

  void Delete(std::map<std::string, Job, std::less<>>::iterator job, const std::string& why,
              const Stepping& step) {
    const std::string id = job->first;
    durable_.runs.erase(job->second.last_run);
    const Job gone = std::move(job->second);
    durable_.jobs.erase(job);
    step.Store(DropJob{id});
    signals_.Deleted(gone, step);
    step.Note("job_deleted", id, kNoRun, "", why);
    streams_.EndJob(id, base::NotFoundError("job:" + base::Shown(id) + " was deleted"), step);
  }

  // --- The jobs directory -------------------------------------------------------------------

  void On(const JobFileGone& gone, const Stepping& step) {
    const bool owned = files_.Owns(gone.job);
    if (owned) {
      if (Busy(gone.call, gone.job, "it cannot be deleted", step)) return;
      DeleteWithFile(gone.job, step);
    }
    files_.Forget(gone.job, step);
    Accept(gone.call, step, owned);
  }

  void On(const JobFilesListed& listed, const Stepping& step) {
    bool changed = false;
    std::vector<std::string> busy;
    for (const std::string& job : files_.Missing(listed.jobs)) {
      if (files_.Owns(job)) {
        if (runs_.OpenRun(job)) {
          busy.push_back(job);
          continue;
        }
        DeleteWithFile(job, step);
        changed = true;
      }
      files_.Forget(job, step);
    }
    if (busy.empty()) return Accept(listed.call, step, changed);
    Refuse(listed.call,
           Refusal{Verdict::kBusy,
                   "the files of jobs under test were removed: " + base::List(busy, 5) +
                       "; these jobs are deleted when their runs end"},
           step);
  }

  // REQUIRES: files_.Owns(job), and the job has no open run.
  void DeleteWithFile(const std::string& job, const Stepping& step) {
    Delete(durable_.jobs.find(job), "its file was removed from the jobs directory", step);
  }

  void On(const Ticked&, const Stepping& step) {
    runs_.Tick(step);
    clients_.Tick(step);
    signals_.Tick(step);
  }

  // Updates the time since when the job is complete or failed. A change from complete to failed, or
  // back, counts as a new end.
  static void NoteEnd(JobState before, Ms now, Job* job) {
    const bool over = job->state == JobState::kComplete || job->state == JobState::kFailed;
    if (!over) {
      job->ended = 0;
    } else if (job->state != before) {
      job->ended = now;
    }
  }

  // --- Answers ------------------------------------------------------------------------------

  static void Accept(CallId call, const Stepping& step, bool changed = false) {
    Answer answer;
    answer.call = call;
    answer.changed = changed;
    step.Do(std::move(answer));
  }

  static void Refuse(CallId call, Refusal refusal, const Stepping& step) {
    Answer answer;
    answer.call = call;
    answer.verdict = refusal.verdict;
    answer.text = std::move(refusal.text);
    step.Do(std::move(answer));
  }

  static void RefuseUnknownJob(CallId call, const std::string& job, const Stepping& step) {
    Refuse(call,
           Refusal{Verdict::kUnknownJob,
                   "job " + base::Quoted(job) + " does not exist; `assay job list` shows the jobs"},
           step);
  }

  // Returns true, after refusing the call, if the job is under test.
  bool Busy(CallId call, const std::string& job, const std::string& what, const Stepping& step) {
    const auto run = runs_.OpenRun(job);
    if (!run) return false;
    Refuse(call,
           Refusal{Verdict::kBusy, "job " + base::Quoted(job) + " is under test in run " +
                                       std::to_string(*run) + ": " + what + " until it ends"},
           step);
    return true;
  }

  static std::shared_ptr<const std::vector<PlannedPart>> PlanFor(const StressPlan& plan) {
    auto parts = std::make_shared<std::vector<PlannedPart>>();
    for (const Part& part : plan.parts) {
      PlannedPart planned;
      planned.node = part.node;
      if (plan.executor == Executor::kAgent) planned.agent = part.agent;
      parts->push_back(std::move(planned));
    }
    for (const RankTest& rank : plan.ranks) {
      (*parts)[rank.part].ranks.push_back(rank.rank);
      (*parts)[rank.part].devices.push_back(rank.device);
    }
    return parts;
  }

  static std::vector<std::string> AttachedNodes(const Durable& durable) {
    std::vector<std::string> names;
    for (const auto& [name, node] : durable.nodes) {
      if (node.attached) names.push_back(name);
    }
    return names;
  }

  const Settings settings_;
  Durable durable_;
  std::vector<std::string> lost_at_start_;  // nodes that the first step stores as lost
  Fleet fleet_;
  Streams streams_;
  Runs runs_;
  Clients clients_;
  JobSignals signals_;
  JobFileRegistry files_;
  bool all_published_ = false;
  std::set<LinkId> links_;  // links that sent a message and are not closed
};

Cluster::Cluster(const Settings& settings, Durable durable, Ms now)
    : impl_(std::make_unique<Impl>(settings, std::move(durable), now)) {}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

void Cluster::Step(const Event& event, Ms now, Output* out) {
  impl_->Step(event, Stepping{now, out});
}
Ms Cluster::NextDeadline(Ms now) const { return impl_->NextDeadline(now); }
const Durable& Cluster::durable() const { return impl_->durable(); }

}  // namespace assay::core::cluster
