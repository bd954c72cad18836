// Checker: the rules for agents, their spools, workers and devices.
#include "tests/simulation/checker.h"
#include "tests/simulation/trace.h"

namespace assay::simulation {

void Checker::AgentDied(int agent) {
  const auto of_agent = [agent](const auto& entry) { return entry.first.first == agent; };
  std::erase_if(working_, of_agent);
  std::erase_if(safing_, of_agent);
}

void Checker::Spooled(int, const core::node::SpoolRecord& record) {
  const auto* outcome = std::get_if<core::node::SpoolOutcome>(&record);
  if (outcome == nullptr) return;
  const bool first = spooled_.emplace(outcome->key, outcome->outcome).second;
  if (!first) world_.Fail("an agent recorded an outcome twice: " + Text(outcome->key));
  CheckNeverStarted(outcome->key, outcome->outcome);
  if (outcome->outcome.started == 0 && begun_.count(outcome->key) > 0) {
    world_.Fail(Text(outcome->key) + " had begun but is recorded as never begun");
  }
}

void Checker::Refused(const core::OutcomeKey& key, const std::string& detail) {
  world_.Require(begun_.count(key) == 0, "an agent refuses an op that has begun");
  refused_[key] = detail;
}

void Checker::WorkerSpawned(int agent, const core::node::WorkerKey& worker, std::int32_t device) {
  for (const auto* held : {&working_, &safing_}) {
    for (const auto& [who, on] : *held) {
      if (who.first == agent && on == device) world_.Fail("two workers on one device");
    }
  }
  if (!working_.emplace(std::pair(agent, worker), device).second) {
    world_.Fail("a worker was started twice");
  }
  const auto lease = leased_.find({agent, device});
  const bool holds = lease != leased_.end() && lease->second == worker.run;
  if (!holds && forgotten_.count(worker.run) == 0) {
    world_.Fail("run " + std::to_string(worker.run) +
                " started a worker without holding its device's lease");
  }
}

void Checker::WorkerGone(int agent, const core::node::WorkerKey& worker) {
  working_.erase({agent, worker});
}

void Checker::MakingSafe(int agent, const core::node::WorkerKey& worker, std::int32_t device) {
  world_.Require(safing_.emplace(std::pair(agent, worker), device).second,
                 "a device is made safe twice at a time");
}

void Checker::DeviceSafed(int agent, const core::node::WorkerKey& worker) {
  safing_.erase({agent, worker});
}

void Checker::OpPrepared(int, const core::node::WorkerKey& worker) {
  const core::OutcomeKey key{worker.run, worker.rank, core::Op::kP2p};
  begun_.insert(key);
  const auto stored = stored_.find(key);
  if (stored != stored_.end()) CheckNeverStarted(key, stored->second);
}

void Checker::OpRun(int agent, const core::node::WorkerKey& worker, core::Op op) {
  const core::OutcomeKey key{worker.run, worker.rank, op};
  if (!ran_.insert(key).second) world_.Fail("an op ran twice: " + Text(key));
  world_.Require(working_.count({agent, worker}) > 0, "an op for a worker that does not exist");
  begun_.insert(key);
  const auto stored = stored_.find(key);
  if (stored != stored_.end()) CheckNeverStarted(key, stored->second);
}

}  // namespace assay::simulation
