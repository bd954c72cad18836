#include "core/cluster/stress_plan.h"

#include <algorithm>
#include <set>

#include "base/ids.h"
#include "base/text.h"

namespace assay::core::cluster {
namespace {

constexpr std::size_t kNamesShown = 5;

using NodeOps = std::vector<OpSet>;  // [index into the table's nodes]; empty: not chosen

// Checks one node's ops in ClusterD's order.
std::optional<Refusal> ReadOps(const std::string& node, const std::vector<std::int64_t>& ops,
                               OpSet* set) {
  const std::string shown = "node:" + base::Shown(node) + " stress test ops ";
  if (ops.empty()) return Refusal{Verdict::kBadParameter, shown + "is 0"};
  for (const std::int64_t value : ops) {
    const std::optional<Op> op = OpFromWire(value);
    if (!op) {
      return Refusal{Verdict::kBadParameter,
                     "op:" + std::to_string(value) + " not exist in support operation:[0 1]"};
    }
    if (set->Has(*op)) return Refusal{Verdict::kBadParameter, shown + "should not repeat"};
    set->Add(*op);
  }
  return std::nullopt;
}

std::optional<Refusal> ReadRequest(const StressRequested& request, const Job& job,
                                   NodeOps* chosen) {
  const std::vector<rank_table::TableNode>& nodes = job.table->nodes;
  chosen->assign(nodes.size(), OpSet());
  if (!request.all_ops.empty()) {
    OpSet set;
    if (auto refusal = ReadOps("AllNodes", request.all_ops, &set)) return refusal;
    chosen->assign(nodes.size(), set);
    return std::nullopt;
  }
  if (request.node_ops.empty()) return Refusal{Verdict::kBadParameter, "stress test node is nil"};
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) places.emplace(nodes[i].name, i);
  for (const auto& [node, ops] : request.node_ops) {
    if (ops.empty()) {
      return Refusal{Verdict::kBadParameter, "node:" + base::Shown(node) + " stress test ops is 0"};
    }
    const auto place = places.find(node);
    if (place == places.end()) {
      return Refusal{Verdict::kBadParameter,
                     "node:" + base::Shown(node) + " not exist in job:" + base::Shown(request.job)};
    }
    if (auto refusal = ReadOps(node, ops, &(*chosen)[place->second])) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> ChooseExecutor(const StressRequested& request, const StressContext& context,
                                      Executor* executor) {
  switch (request.demand) {
    case ExecutorDemand::kAuto:
      *executor = context.subscriber_attached ? Executor::kSubscriber : Executor::kAgent;
      return std::nullopt;
    case ExecutorDemand::kAgent:
      *executor = Executor::kAgent;
      return std::nullopt;
    case ExecutorDemand::kSubscriber:
      *executor = Executor::kSubscriber;
      if (context.subscriber_attached) return std::nullopt;
      break;
  }
  return Refusal{Verdict::kNoExecutor,
                 "job:" + base::Shown(request.job) +
                     " has no subscriber (SubscribeNotifyExecStressTest) to execute the test"};
}

// The error if the agent's inventory does not have all wanted devices, else "".
std::string MissingDevices(const std::string& node, const std::vector<std::int32_t>& wanted,
                           const std::vector<DeviceInfo>& inventory) {
  std::set<std::int32_t> there;
  for (const DeviceInfo& device : inventory) there.insert(device.index);
  std::vector<std::string> missing;
  for (const std::int32_t device : wanted) {
    if (device < 0)
      return "node " + base::Quoted(node) + ": a rank runs on the CPU, not on a device";
    if (!there.contains(device)) missing.push_back(std::to_string(device));
  }
  if (missing.empty()) return "";
  const std::string text = "node " + base::Quoted(node) + ": its agent does not list device " +
                           base::List(missing, kNamesShown);
  if (there.empty()) return text + ", nor any other device";
  return text + ", but lists " + base::Count(there.size(), "device", "devices") + " from " +
         std::to_string(*there.begin()) + " to " + std::to_string(*there.rbegin());
}

// Sets the agent of every part. Refuses unless each rank's node has an attached agent that lists
// the rank's device.
std::optional<Refusal> FindAgents(const Fleet& fleet,
                                  const std::vector<rank_table::TableNode>& nodes,
                                  const std::vector<std::uint32_t>& chosen, StressPlan* plan) {
  std::vector<std::string> problems;
  std::map<std::string, std::string> taken;  // agent -> node
  std::vector<std::vector<std::int32_t>> wanted(chosen.size());
  for (const RankTest& rank : plan->ranks) wanted[rank.part].push_back(rank.device);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const rank_table::TableNode& node = nodes[chosen[i]];
    const NodeMatch match = fleet.Match(node);
    if (!match.problem.empty()) {
      problems.push_back(match.problem);
      continue;
    }
    const auto [it, first] = taken.emplace(match.agent, node.name);
    if (!first) {
      problems.push_back("nodes " + base::Quoted(it->second) + " and " + base::Quoted(node.name) +
                         " both match agent " + base::Quoted(match.agent));
      continue;
    }
    const Node& agent = *fleet.NodeOf(*fleet.LinkOf(match.agent));
    std::string missing = MissingDevices(node.name, wanted[i], agent.devices);
    if (!missing.empty()) problems.push_back(std::move(missing));
    plan->parts[i].agent = match.agent;
    plan->parts[i].identity = agent.identity;
  }
  if (problems.empty()) return std::nullopt;
  std::string text =
      "no agent can execute the test on " + base::Count(problems.size(), "node", "nodes");
  for (std::size_t i = 0; i < problems.size() && i < kNamesShown; ++i) {
    text += (i == 0 ? ": " : "; ") + problems[i];
  }
  if (problems.size() > kNamesShown) {
    text += "; and " + std::to_string(problems.size() - kNamesShown) + " more";
  }
  return Refusal{Verdict::kNoExecutor, base::Shown(text, 900)};
}

std::optional<Refusal> CheckDevices(const StressContext& context, const std::string& job_id,
                                    const StressPlan& plan) {
  for (const RankTest& rank : plan.ranks) {
    const Part& part = plan.parts[rank.part];
    if (rank.device < 0) continue;
    if (const auto run = context.fleet->HolderOf({part.agent, rank.device})) {
      return Refusal{Verdict::kBusy, "device " + std::to_string(rank.device) + " of node " +
                                         base::Quoted(part.node) + " is under test in run " +
                                         std::to_string(*run)};
    }
  }
  std::set<DeviceKey> wanted;
  std::set<std::string_view> agents;
  for (const RankTest& rank : plan.ranks) {
    wanted.insert({plan.parts[rank.part].agent, rank.device});
    agents.insert(plan.parts[rank.part].agent);
  }
  for (const auto& [id, job] : *context.jobs) {
    if (id == job_id || job.state != JobState::kRunning) continue;
    std::vector<std::string> names;
    bool shares_node = false;
    for (const rank_table::TableNode& node : job.table->nodes) {
      names.push_back(context.fleet->LeaseName(node));
      shares_node = shares_node || agents.contains(names.back());
    }
    if (!shares_node) continue;
    for (const rank_table::RankPlace& place : job.table->ranks) {
      if (place.device < 0 || !wanted.contains({names[place.node], place.device})) continue;
      return Refusal{Verdict::kBusy,
                     "device " + std::to_string(place.device) + " of node " +
                         base::Quoted(job.table->nodes[place.node].name) +
                         " is part of running job " + base::Quoted(id) +
                         "; if that job has ended, set it complete (`assay job status`)"};
    }
  }
  return std::nullopt;
}

void AddRanks(const Job& job, const NodeOps& chosen, const std::vector<std::uint32_t>& part_of_node,
              StressPlan* plan) {
  for (const rank_table::RankPlace& place : job.table->ranks) {
    if (chosen[place.node].empty()) continue;
    RankTest rank;
    rank.rank = place.rank;
    rank.device = place.device;
    rank.part = part_of_node[place.node];
    rank.ops = chosen[place.node];
    plan->ranks.push_back(std::move(rank));
  }
}

}  // namespace

std::variant<StressPlan, Refusal> PlanStress(const StressRequested& request,
                                             const StressContext& context) {
  const auto found = context.jobs->find(request.job);
  if (found == context.jobs->end()) {
    return Refusal{Verdict::kBadParameter, "job:" + base::Shown(request.job) + " not exist"};
  }
  const Job& job = found->second;
  if (job.table->ranks.empty()) {
    return Refusal{Verdict::kNoExecutor,
                   "job:" + base::Shown(request.job) +
                       " has no rank table yet; apply it when the job is placed"};
  }
  NodeOps chosen;
  if (auto refusal = ReadRequest(request, job, &chosen)) return *std::move(refusal);

  if (context.open_run) {
    return Refusal{Verdict::kBusy, "jobId=" + base::Shown(request.job) +
                                       " om is running, or job recovering: run " +
                                       std::to_string(*context.open_run) + " is open"};
  }
  StressPlan plan;
  if (auto refusal = ChooseExecutor(request, context, &plan.executor)) return *std::move(refusal);
  if (job.owing_until > context.now) {
    return Refusal{Verdict::kBusy,
                   "jobId=" + base::Shown(request.job) + " om is running, or job recovering: run " +
                       std::to_string(job.last_run) +
                       " ended without the reply of its subscriber, which may still be "
                       "testing; try again after that reply, or at the latest in " +
                       base::Seconds(job.owing_until - context.now)};
  }

  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> part_of_node(chosen.size());
  for (std::uint32_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i].empty()) continue;
    part_of_node[i] = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back(i);
    plan.ops = plan.ops | chosen[i];
    Part part;
    part.node = job.table->nodes[i].name;
    if (plan.executor == Executor::kSubscriber) {
      part.agent = context.fleet->LeaseName(job.table->nodes[i]);
    }
    plan.parts.push_back(std::move(part));
  }
  AddRanks(job, chosen, part_of_node, &plan);
  if (plan.executor == Executor::kAgent) {
    if (auto refusal = FindAgents(*context.fleet, job.table->nodes, nodes, &plan)) {
      return *std::move(refusal);
    }
  }
  if (auto refusal = CheckDevices(context, request.job, plan)) return *std::move(refusal);
  return plan;
}

}  // namespace assay::core::cluster
