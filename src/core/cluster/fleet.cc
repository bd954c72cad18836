#include "core/cluster/fleet.h"

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"

namespace assay::core::cluster {
namespace {

constexpr std::string_view kKindNames[] = {"host name", "FQDN", "address"};

// Whether the address does not identify a machine: every machine has it, or it is link-local.
bool Meaningless(std::string_view address) {
  return address.empty() || address.starts_with("127.") || address == "::1" ||
         address.starts_with("169.254.") || address.starts_with("fe80:") ||
         address.starts_with("FE80:") || address == "0.0.0.0" || address == "::";
}

bool SameInventory(const Node& a, const Node& b) {
  return a.devices == b.devices && a.driver == b.driver;
}

}  // namespace

Fleet::Fleet(std::map<std::string, Node, std::less<>>* nodes, Leases* leases, Ms agent_timeout,
             Ms now)
    : nodes_(*nodes), leases_(*leases), agent_timeout_(agent_timeout) {
  for (auto& [name, node] : nodes_) {
    if (!node.attached) continue;
    node.attached = false;
    node.since = now;
  }
}

std::optional<std::string> Fleet::Attach(LinkId link, const Node& said, const Caller& caller,
                                         const Stepping& step) {
  if (const auto problem = base::IdProblem("node", said.name)) {
    step.Do(EndLink{link, base::InvalidError(*problem + "; start the agent with --node=NAME")});
    return std::nullopt;
  }
  if (node_of_.contains(link)) {
    step.Do(EndLink{
        link, base::InvalidError("an agent must send Hello only once, as the first message")});
    return std::nullopt;
  }
  const auto known = nodes_.find(said.name);
  const bool other_agent = known != nodes_.end() && known->second.identity != said.identity;
  if (other_agent) {
    const Node& other = known->second;
    if (other.attached || step.now - other.since < agent_timeout_) {
      step.Do(EndLink{
          link, base::ConflictError(
                    "node " + base::Quoted(said.name) + ": another agent " +
                    (other.attached ? "is attached" : "was attached a moment ago") +
                    " under this name (host " + base::Quoted(other.host_name) + ", identity " +
                    base::Shown(other.identity) +
                    "); give one of them another name with --node, or stop the other one")});
      return std::nullopt;
    }
  }
  const auto newest = newest_link_of_.find(said.name);
  if (newest != newest_link_of_.end() && link < newest->second) {
    // The agent reported its current runs on the newer link, even if that link is closed by now.
    step.Do(EndLink{link, base::ReplacedError("this agent has attached again on a newer stream")});
    return std::nullopt;
  }
  if (other_agent) {
    const Node& other = known->second;
    step.Note("node_taken_over", "", kNoRun, said.name,
              "identity " + base::Shown(said.identity) + " on host " +
                  base::Quoted(said.host_name) + " takes the name over from identity " +
                  base::Shown(other.identity) + " on host " + base::Quoted(other.host_name) +
                  "; it attached from " + caller.who);
  }
  if (const auto old = LinkOf(said.name)) {
    step.Do(EndLink{*old, base::ReplacedError("this agent has attached again on a newer stream")});
    node_of_.erase(*old);
  }
  if (known != nodes_.end()) Index(known->second, false);
  Node node = said;
  node.attached = true;
  node.since = step.now;
  const bool inventory_changed = known == nodes_.end() || !SameInventory(known->second, node);
  nodes_.insert_or_assign(node.name, node);
  node_of_[link] = node.name;
  link_of_[node.name] = link;
  newest_link_of_[node.name] = link;
  Index(node, true);
  step.Note("node_attached", "", kNoRun, node.name,
            std::to_string(node.devices.size()) + " devices, driver " + base::Shown(node.driver) +
                ", version " + base::Shown(node.version) + ", from " + caller.who);
  step.Store(PutNode{node, inventory_changed});
  return node.name;
}

std::optional<std::string> Fleet::Detach(LinkId link, const Stepping& step) {
  const auto it = node_of_.find(link);
  if (it == node_of_.end()) return std::nullopt;
  const std::string name = it->second;
  node_of_.erase(it);
  link_of_.erase(name);
  Node& node = nodes_.find(name)->second;
  Index(node, false);
  node.attached = false;
  node.since = step.now;
  step.Note("node_lost", "", kNoRun, name, "its stream ended");
  step.Store(PutNode{node, false});
  return name;
}

const Node* Fleet::NodeOf(LinkId link) const {
  const auto it = node_of_.find(link);
  return it == node_of_.end() ? nullptr : &nodes_.find(it->second)->second;
}

std::optional<LinkId> Fleet::LinkOf(std::string_view node) const {
  const auto it = link_of_.find(node);
  if (it == link_of_.end()) return std::nullopt;
  return it->second;
}

void Fleet::Index(const Node& node, bool attached) {
  const auto put = [&](int kind, const std::string& key) {
    if (key.empty()) return;
    if (attached) {
      found_by_[kind][key].insert(node.name);
      return;
    }
    const auto it = found_by_[kind].find(key);
    if (it == found_by_[kind].end()) return;
    it->second.erase(node.name);
    if (it->second.empty()) found_by_[kind].erase(it);
  };
  put(kHostName, node.host_name);
  put(kFqdn, node.fqdn);
  for (const std::string& address : node.addresses) {
    if (!Meaningless(address)) put(kAddress, address);
  }
}

std::set<std::string> Fleet::Find(const rank_table::TableNode& node, int kind) const {
  std::set<std::string> found;
  const auto add = [&](std::string_view key) {
    const auto it = found_by_[kind].find(key);
    if (it == found_by_[kind].end()) return;
    // An address that two agents report identifies neither.
    if (kind == kAddress && it->second.size() > 1) return;
    found.insert(it->second.begin(), it->second.end());
  };
  add(node.name);
  if (kind == kAddress) {
    for (const std::string& alias : node.aliases) add(alias);
  }
  return found;
}

NodeMatch Fleet::Match(const rank_table::TableNode& node) const {
  const std::string shown = "node " + base::Quoted(node.name);
  NodeMatch match;
  // A name belongs to its agent even while that agent is not attached.
  if (const auto it = nodes_.find(node.name); it != nodes_.end()) {
    match.agent = it->first;
    match.attached = it->second.attached;
    if (!match.attached) match.problem = shown + ": its agent is not attached";
    return match;
  }
  for (int kind = kHostName; kind < kKinds; ++kind) {
    const std::set<std::string> found = Find(node, kind);
    if (found.empty()) continue;
    if (found.size() > 1) {
      match.problem = shown + ": agents " + base::Quoted(*found.begin()) + " and " +
                      base::Quoted(*std::next(found.begin())) + " both have it as their " +
                      std::string(kKindNames[kind]) + "; name the agents with --node";
      return match;
    }
    match.agent = *found.begin();
    match.attached = true;
    return match;
  }
  match.problem = shown + ": no attached agent has this name, host name or address";
  return match;
}

std::string Fleet::LeaseName(const rank_table::TableNode& node) const {
  NodeMatch match = Match(node);
  if (match.agent.empty()) return node.name;
  return std::move(match.agent);
}

std::optional<RunId> Fleet::HolderOf(const DeviceKey& device) const {
  const auto it = leases_.find(device);
  if (it == leases_.end()) return std::nullopt;
  return it->second;
}

void Fleet::Lease(const DeviceKey& device, RunId run, const Stepping& step) {
  leases_[device] = run;
  step.Store(PutLease{device, run});
}

void Fleet::Release(const DeviceKey& device, RunId run, const Stepping& step) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second != run) return;
  leases_.erase(it);
  step.Store(DropLease{device});
}

std::optional<Refusal> Fleet::Forget(const std::string& node, const Caller& caller,
                                     const Stepping& step) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) {
    return Refusal{Verdict::kNotFound, "node " + base::Quoted(node) +
                                           " does not exist; `assay node list` shows the nodes"};
  }
  if (it->second.attached) {
    return Refusal{Verdict::kWrongState,
                   "node " + base::Quoted(node) + " is attached; stop its agent first"};
  }
  ReleaseUnless(
      node, [](RunId) { return false; }, step);
  nodes_.erase(it);
  newest_link_of_.erase(node);
  step.Store(DropNode{node});
  step.Note("node_forgotten", "", kNoRun, node, "by " + caller.who);
  return std::nullopt;
}

}  // namespace assay::core::cluster
