#include "tests/core/node/rig.h"

#include <catch2/catch.hpp>

namespace assay::core::node {
namespace {

std::string Id(RunId run, std::int32_t rank) {
  return std::to_string(run) + "/" + std::to_string(rank);
}
std::string Id(const WorkerKey& key) { return Id(key.run, key.rank); }
std::string Id(const OutcomeKey& key) {
  return Id(key.run, key.rank) + "/" + std::string(Name(key.op));
}
std::string Text(const std::vector<P2pMember>& group, std::int32_t index) {
  std::string text = " place " + std::to_string(index) + " of";
  for (const P2pMember& member : group) {
    text += " " + std::to_string(member.rank) + "@" + std::to_string(member.device);
  }
  return text;
}

Lines Show(const SpoolRun& r) { return {"spool run " + std::to_string(r.assign.run)}; }
Lines Show(const SpoolStarted& r) { return {"spool started " + std::to_string(r.run)}; }
Lines Show(const SpoolBegun& r) { return {"spool begun " + Id(r.key)}; }
Lines Show(const SpoolOutcome& r) {
  return {"spool outcome " + Id(r.key) + " " + std::string(Name(r.outcome.code)) + ": " +
          r.outcome.detail};
}
Lines Show(const SpoolAcked& r) { return {"spool acked " + Id(r.key)}; }
Lines Show(const SpoolDrop& r) { return {"spool drop " + std::to_string(r.run)}; }

Lines Show(const Hello& m) {
  std::string text = "hello " + m.node.name;
  for (const HeldRun& held : m.held) {
    text += " " + std::to_string(held.run) + (held.started ? " started" : "");
  }
  return {text};
}
Lines Show(const Ready& m) { return {"ready " + std::to_string(m.run)}; }
Lines Show(const Progress& m) {
  const std::string text = "progress " + Id(OutcomeKey{m.run, m.rank, m.op}) + " ";
  return {m.started ? text + "started" : text + std::to_string(m.percent) + "% " + m.text};
}
Lines Show(const Outcomes& m) {
  Lines lines;
  for (const OutcomeReport& report : m.reports) {
    lines.push_back("outcome " + assay::core::node::Show(report, false));
  }
  return lines;
}
Lines Show(const Discarded& m) { return {"discarded " + std::to_string(m.run)}; }

Lines Show(const SendToCoordinator& e) {
  return std::visit([](const auto& message) { return Show(message); }, e.message);
}
Lines Show(const SpawnWorker& e) {
  return {"spawn " + Id(e.worker) + " on " + std::to_string(e.device)};
}
Lines Show(const RunAic& e) { return {"run aic " + Id(e.worker)}; }
Lines Show(const PrepareP2p& e) { return {"prepare p2p " + Id(e.worker) + Text(e.group, e.index)}; }
Lines Show(const RunP2p& e) {
  std::string text = "run p2p " + Id(e.worker) + Text(e.group, e.index) + " with";
  for (const std::string& blob : e.blobs) text += " " + blob;
  return {text};
}
Lines Show(const QuitWorker& e) { return {"quit " + Id(e.worker)}; }
Lines Show(const KillWorker& e) { return {"kill " + Id(e.worker)}; }
Lines Show(const MakeSafe& e) {
  return {"make safe " + Id(e.worker) + " on " + std::to_string(e.device) + " within " +
          std::to_string(e.timeout)};
}

}  // namespace

Lines Show(const SpoolRecord& record) {
  return std::visit([](const auto& one) { return Show(one); }, record);
}
Lines Show(const NodeEffect& effect) {
  return std::visit([](const auto& one) { return Show(one); }, effect);
}
std::string Show(const OutcomeReport& report, bool ages) {
  std::string text = Id(OutcomeKey{report.run, report.rank, report.op}) + " " +
                     std::string(Name(report.code)) + ": " + report.detail;
  if (ages) {
    text += ", started " + std::to_string(report.started_ago) + " ago, finished " +
            std::to_string(report.finished_ago) + " ago";
  }
  return text;
}

Node TestNode(std::int32_t devices) {
  Node node;
  node.name = "n1";
  for (std::int32_t i = 0; i < devices; ++i) node.devices.push_back({i, "sim", ""});
  return node;
}

OpSet Ops(std::initializer_list<Op> ops) {
  OpSet set;
  for (const Op op : ops) set.Add(op);
  return set;
}

Assign TestAssign(RunId run, std::vector<AssignedRank> ranks) {
  return {run, "job", std::move(ranks), 300'000, 600'000, 30'000};
}

Rig::Rig(Spooled spooled, std::int32_t devices)
    : supervisor(TestNode(devices), std::move(spooled)), devices_(devices) {}

Lines Rig::Do(const NodeEvent& event) {
  NodeOutput out;
  Spooled before = supervisor.spooled();
  supervisor.Step(event, now, &out);
  Lines lines;
  for (const SpoolRecord& record : out.records) {
    Apply(record, &before);
    for (std::string& line : Show(record)) lines.push_back(std::move(line));
  }
  CHECK(before == supervisor.spooled());
  for (const NodeEffect& effect : out.effects) {
    for (std::string& line : Show(effect)) lines.push_back(std::move(line));
  }
  return lines;
}

void Rig::Restart() { supervisor = Supervisor(TestNode(devices_), supervisor.spooled()); }

Lines Rig::Done(RunId run, std::int32_t rank, Op op, OutcomeCode code, std::string detail) {
  return Do(WorkerOpDone{{run, rank}, op, code, std::move(detail)});
}

Lines Rig::Begin(const Assign& assign) {
  Say(assign);
  for (const AssignedRank& rank : assign.ranks) Opened(assign.run, rank.rank);
  return Say(Start{assign.run});
}

}  // namespace assay::core::node
