#include "tests/simulation/trace.h"

#include <variant>

namespace assay::simulation {
namespace {

std::string N(std::int64_t number) { return std::to_string(number); }
std::string U(std::uint64_t number) { return std::to_string(number); }
std::string Of(core::RunId run, std::int32_t rank) { return N(run) + "/" + N(rank); }
std::string Of(const core::node::WorkerKey& worker) { return Of(worker.run, worker.rank); }
std::string Named(core::Op op) { return std::string(Name(op)); }

struct Lines {
  // Events
  std::string operator()(const core::StressRequested& e) const {
    std::string text = "stress " + e.job + " call " + U(e.call) + (e.check ? " check" : "");
    for (const auto& [node, ops] : e.node_ops) text += " " + node + ":" + U(ops.size());
    return text + " all:" + U(e.all_ops.size()) + " demand " + N(static_cast<int>(e.demand));
  }
  std::string operator()(const core::Replied& e) const {
    std::string text = "reply " + e.job + " call " + U(e.call);
    for (const core::ReplyItem& item : e.items)
      text += " " + item.rank + "/" + item.op + "=" + item.code;
    return text;
  }
  std::string operator()(const core::StreamOpened& e) const {
    return "opened stream " + U(e.stream) + " of " + e.job + " topic " +
           N(static_cast<int>(e.topic));
  }
  std::string operator()(const core::StreamClosed& e) const {
    return "closed stream " + U(e.stream);
  }
  std::string operator()(const core::LinkMessage& e) const {
    return "link " + U(e.link) + ": " + Text(e.message);
  }
  std::string operator()(const core::LinkClosed& e) const { return "closed link " + U(e.link); }
  std::string operator()(const core::JobApplied& e) const {
    return "apply " + e.spec.id + " " + e.table_text;
  }
  std::string operator()(const core::JobStateSet& e) const {
    return "state " + e.job + " " + std::string(Name(e.state));
  }
  std::string operator()(const core::JobDeleted& e) const { return "delete " + e.job; }
  std::string operator()(const core::JobFileGone& e) const { return "file removed of " + e.job; }
  std::string operator()(const core::JobFilesListed& e) const {
    return "files of " + N(std::ssize(e.jobs)) + " jobs";
  }
  std::string operator()(const core::ClientRegistered& e) const {
    return "register " + e.client + " as " + e.role;
  }
  std::string operator()(const core::RunCancelled& e) const { return "cancel " + N(e.run); }
  std::string operator()(const core::NodeForgotten& e) const { return "forget " + e.node; }
  std::string operator()(const core::Ticked&) const { return "tick"; }

  // Messages
  std::string operator()(const core::Hello& m) const {
    std::string text = "hello " + m.node.name + " " + m.node.identity + " held";
    for (const core::HeldRun& run : m.held) text += " " + N(run.run) + (run.started ? "s" : "");
    return text;
  }
  std::string operator()(const core::Ready& m) const { return "ready " + N(m.run); }
  std::string operator()(const core::Progress& m) const {
    return "progress " + Of(m.run, m.rank) + " " + Named(m.op) + (m.started ? " started" : "");
  }
  std::string operator()(const core::Outcomes& m) const {
    std::string text = "outcomes";
    for (const core::OutcomeReport& report : m.reports) {
      text += " " + Text(core::OutcomeKey{report.run, report.rank, report.op}) + "=" +
              N(static_cast<int>(report.code)) + "'" + report.detail + "'";
    }
    return text;
  }
  std::string operator()(const core::Discarded& m) const { return "discarded " + N(m.run); }
  std::string operator()(const core::Welcome&) const { return "welcome"; }
  std::string operator()(const core::Assign& m) const {
    std::string text = "assign " + N(m.run);
    for (const core::AssignedRank& rank : m.ranks)
      text += " " + N(rank.rank) + "@" + N(rank.device);
    return text;
  }
  std::string operator()(const core::Start& m) const { return "start " + N(m.run); }
  std::string operator()(const core::Cancel& m) const { return "cancel " + N(m.run); }
  std::string operator()(const core::Discard& m) const { return "discard " + N(m.run); }
  std::string operator()(const core::Ack& m) const {
    std::string text = "ack";
    for (const core::OutcomeKey& key : m.keys) text += " " + Text(key);
    return text;
  }

  // Effects
  std::string operator()(const core::Answer& e) const {
    return "answer " + U(e.call) + " " + std::string(Name(e.verdict)) + " run " + N(e.run) + " " +
           e.text;
  }
  std::string operator()(const core::AttachStream& e) const {
    return "attach stream " + U(e.stream);
  }
  std::string operator()(const core::PublishNotify& e) const { return "notify run " + N(e.run); }
  std::string operator()(const core::PublishResult& e) const { return "result of run " + N(e.run); }
  std::string operator()(const core::ReplayResult& e) const { return "replay to " + U(e.stream); }
  std::string operator()(const core::EndStream& e) const {
    return "end stream " + U(e.stream) + " " + e.status.text();
  }
  std::string operator()(const core::PublishSignal& e) const {
    return "signal " + U(e.signal->change) + " of " + e.signal->job.id + " " +
           (e.signal->deleted ? "deleted" : std::string(Name(e.signal->state)));
  }
  std::string operator()(const core::ForgetDeleted& e) const { return "forget deleted " + e.job; }
  std::string operator()(const core::ToAgent& e) const {
    return "link " + U(e.link) + ": " + Text(e.message);
  }
  std::string operator()(const core::EndLink& e) const {
    return "end link " + U(e.link) + " " + e.status.text();
  }
  std::string operator()(const core::ReportDefect& e) const { return "defect: " + e.text; }

  // The supervisor
  std::string operator()(const core::node::LinkUp&) const { return "link up"; }
  std::string operator()(const core::node::LinkDown&) const { return "link down"; }
  std::string operator()(const core::node::CoordinatorSaid& e) const {
    return "received " + Text(e.message);
  }
  std::string operator()(const core::node::WorkerOpened& e) const {
    return "opened " + Of(e.worker);
  }
  std::string operator()(const core::node::WorkerFailed& e) const {
    return "failed " + Of(e.worker);
  }
  std::string operator()(const core::node::WorkerProgressed& e) const {
    return "progressed " + Of(e.worker);
  }
  std::string operator()(const core::node::WorkerP2pPrepared& e) const {
    return "prepared " + Of(e.worker) + " " + e.error;
  }
  std::string operator()(const core::node::WorkerOpDone& e) const {
    return "done " + Of(e.worker) + " " + Named(e.op) + "=" + N(static_cast<int>(e.code));
  }
  std::string operator()(const core::node::WorkerGone& e) const {
    return "exited " + Of(e.worker) + " " + e.how;
  }
  std::string operator()(const core::node::DeviceSafe& e) const {
    return "safe " + Of(e.worker) + (e.voltage_changed ? " changed" : "");
  }
  std::string operator()(const core::node::StopAsked&) const { return "stop asked"; }
  std::string operator()(const core::node::StopForced&) const { return "stop forced"; }
  std::string operator()(const core::node::NodeTicked&) const { return "tick"; }
  std::string operator()(const core::node::SendToCoordinator& e) const {
    return "send " + Text(e.message);
  }
  std::string operator()(const core::node::SpawnWorker& e) const {
    return "spawn " + Of(e.worker) + " on device " + N(e.device);
  }
  std::string operator()(const core::node::RunAic& e) const { return "run aic " + Of(e.worker); }
  std::string operator()(const core::node::PrepareP2p& e) const {
    return "prepare p2p " + Of(e.worker);
  }
  std::string operator()(const core::node::RunP2p& e) const { return "run p2p " + Of(e.worker); }
  std::string operator()(const core::node::QuitWorker& e) const { return "quit " + Of(e.worker); }
  std::string operator()(const core::node::KillWorker& e) const { return "kill " + Of(e.worker); }
  std::string operator()(const core::node::MakeSafe& e) const {
    return "make safe " + Of(e.worker);
  }
};

}  // namespace

std::string Text(const core::Event& event) { return std::visit(Lines(), event); }
std::string Text(const core::Effect& effect) { return std::visit(Lines(), effect); }
std::string Text(const core::AgentMessage& message) { return std::visit(Lines(), message); }
std::string Text(const core::CoordinatorMessage& message) { return std::visit(Lines(), message); }
std::string Text(const core::node::NodeEvent& event) { return std::visit(Lines(), event); }
std::string Text(const core::node::NodeEffect& effect) { return std::visit(Lines(), effect); }
std::string Text(const core::OutcomeKey& key) {
  return Of(key.run, key.rank) + "." + Named(key.op);
}

}  // namespace assay::simulation
