#include "tests/simulation/trace.h"

#include <variant>

namespace assay::simulation {
namespace {

std::string N(std::int64_t number) { return std::to_string(number); }
std::string U(std::uint64_t number) { return std::to_string(number); }
std::string Of(RunId run, std::int32_t rank) { return N(run) + "/" + N(rank); }
std::string Of(const WorkerKey& worker) { return Of(worker.run, worker.rank); }
std::string Named(Op op) { return std::string(Name(op)); }

struct Lines {
  // Events
  std::string operator()(const StressRequested& e) const {
    std::string text = "stress " + e.job + " call " + U(e.call) + (e.check ? " check" : "");
    for (const auto& [node, ops] : e.node_ops) text += " " + node + ":" + U(ops.size());
    return text + " all:" + U(e.all_ops.size()) + " demand " + N(static_cast<int>(e.demand));
  }
  std::string operator()(const Replied& e) const {
    std::string text = "reply " + e.job + " call " + U(e.call);
    for (const ReplyItem& item : e.items) text += " " + item.rank + "/" + item.op + "=" + item.code;
    return text;
  }
  std::string operator()(const StreamOpened& e) const {
    return "opened stream " + U(e.stream) + " of " + e.job + " topic " +
           N(static_cast<int>(e.topic));
  }
  std::string operator()(const StreamClosed& e) const { return "closed stream " + U(e.stream); }
  std::string operator()(const LinkSaid& e) const {
    return "link " + U(e.link) + ": " + Text(e.message);
  }
  std::string operator()(const LinkClosed& e) const { return "closed link " + U(e.link); }
  std::string operator()(const JobApplied& e) const {
    return "apply " + e.spec.id + " " + e.table_text;
  }
  std::string operator()(const JobStateSet& e) const {
    return "state " + e.job + " " + std::string(Name(e.state));
  }
  std::string operator()(const JobDeleted& e) const { return "delete " + e.job; }
  std::string operator()(const JobFileGone& e) const { return "file removed of " + e.job; }
  std::string operator()(const JobFilesListed& e) const {
    return "files of " + N(std::ssize(e.jobs)) + " jobs";
  }
  std::string operator()(const ClientRegistered& e) const {
    return "register " + e.client + " as " + e.role;
  }
  std::string operator()(const RunCancelled& e) const { return "cancel " + N(e.run); }
  std::string operator()(const NodeForgotten& e) const { return "forget " + e.node; }
  std::string operator()(const Ticked&) const { return "tick"; }

  // Messages
  std::string operator()(const Hello& m) const {
    std::string text = "hello " + m.node.name + " " + m.node.identity + " held";
    for (const HeldRun& run : m.held) text += " " + N(run.run) + (run.started ? "s" : "");
    return text;
  }
  std::string operator()(const Ready& m) const { return "ready " + N(m.run); }
  std::string operator()(const Progress& m) const {
    return "progress " + Of(m.run, m.rank) + " " + Named(m.op) + (m.started ? " started" : "");
  }
  std::string operator()(const Outcomes& m) const {
    std::string text = "outcomes";
    for (const OutcomeReport& report : m.reports) {
      text += " " + Text(OutcomeKey{report.run, report.rank, report.op}) + "=" +
              N(static_cast<int>(report.code)) + "'" + report.detail + "'";
    }
    return text;
  }
  std::string operator()(const Discarded& m) const { return "discarded " + N(m.run); }
  std::string operator()(const Welcome&) const { return "welcome"; }
  std::string operator()(const Assign& m) const {
    std::string text = "assign " + N(m.run);
    for (const AssignedRank& rank : m.ranks) text += " " + N(rank.rank) + "@" + N(rank.device);
    return text;
  }
  std::string operator()(const Start& m) const { return "start " + N(m.run); }
  std::string operator()(const Cancel& m) const { return "cancel " + N(m.run); }
  std::string operator()(const Discard& m) const { return "discard " + N(m.run); }
  std::string operator()(const Ack& m) const {
    std::string text = "ack";
    for (const OutcomeKey& key : m.keys) text += " " + Text(key);
    return text;
  }

  // Effects
  std::string operator()(const Answer& e) const {
    return "answer " + U(e.call) + " " + N(e.code) + " run " + N(e.run) + " " + e.text;
  }
  std::string operator()(const AttachStream& e) const { return "attach stream " + U(e.stream); }
  std::string operator()(const PublishNotify& e) const { return "notify run " + N(e.run); }
  std::string operator()(const PublishResult& e) const { return "result of run " + N(e.run); }
  std::string operator()(const ReplayResult& e) const { return "replay to " + U(e.stream); }
  std::string operator()(const EndStream& e) const {
    return "end stream " + U(e.stream) + " " + e.status.text();
  }
  std::string operator()(const PublishSignal& e) const {
    return "signal " + U(e.signal->change) + " of " + e.signal->job.id + " " +
           (e.signal->deleted ? "deleted" : std::string(Name(e.signal->state)));
  }
  std::string operator()(const ForgetDeleted& e) const { return "forget deleted " + e.job; }
  std::string operator()(const ToAgent& e) const {
    return "link " + U(e.link) + ": " + Text(e.message);
  }
  std::string operator()(const EndLink& e) const {
    return "end link " + U(e.link) + " " + e.status.text();
  }

  // The supervisor
  std::string operator()(const LinkUp&) const { return "link up"; }
  std::string operator()(const LinkDown&) const { return "link down"; }
  std::string operator()(const CoordinatorSaid& e) const { return "received " + Text(e.message); }
  std::string operator()(const WorkerOpened& e) const { return "opened " + Of(e.worker); }
  std::string operator()(const WorkerFailed& e) const { return "failed " + Of(e.worker); }
  std::string operator()(const WorkerProgressed& e) const { return "progressed " + Of(e.worker); }
  std::string operator()(const WorkerP2pPrepared& e) const {
    return "prepared " + Of(e.worker) + " " + e.error;
  }
  std::string operator()(const WorkerOpDone& e) const {
    return "done " + Of(e.worker) + " " + Named(e.op) + "=" + N(static_cast<int>(e.code));
  }
  std::string operator()(const WorkerGone& e) const {
    return "exited " + Of(e.worker) + " " + e.how;
  }
  std::string operator()(const DeviceSafe& e) const {
    return "safe " + Of(e.worker) + (e.voltage_changed ? " changed" : "");
  }
  std::string operator()(const StopAsked&) const { return "stop asked"; }
  std::string operator()(const StopForced&) const { return "stop forced"; }
  std::string operator()(const NodeTicked&) const { return "tick"; }
  std::string operator()(const SendToCoordinator& e) const { return "send " + Text(e.message); }
  std::string operator()(const SpawnWorker& e) const {
    return "spawn " + Of(e.worker) + " on device " + N(e.device);
  }
  std::string operator()(const RunAic& e) const { return "run aic " + Of(e.worker); }
  std::string operator()(const PrepareP2p& e) const { return "prepare p2p " + Of(e.worker); }
  std::string operator()(const RunP2p& e) const { return "run p2p " + Of(e.worker); }
  std::string operator()(const QuitWorker& e) const { return "quit " + Of(e.worker); }
  std::string operator()(const KillWorker& e) const { return "kill " + Of(e.worker); }
  std::string operator()(const MakeSafe& e) const { return "make safe " + Of(e.worker); }
};

}  // namespace

std::string Text(const Event& event) { return std::visit(Lines(), event); }
std::string Text(const Effect& effect) { return std::visit(Lines(), effect); }
std::string Text(const AgentMessage& message) { return std::visit(Lines(), message); }
std::string Text(const CoordinatorMessage& message) { return std::visit(Lines(), message); }
std::string Text(const NodeEvent& event) { return std::visit(Lines(), event); }
std::string Text(const NodeEffect& effect) { return std::visit(Lines(), effect); }
std::string Text(const OutcomeKey& key) { return Of(key.run, key.rank) + "." + Named(key.op); }

}  // namespace assay::simulation
