// The registry of nodes with agents: which agents are attached, which agent may use a name, which
// agent a rank table's node refers to, and which run holds a device.
//
// Thread safety: none; the cluster owns it. Nodes and leases live in Durable; links do not outlive
// the process.
//
// Invariants:
// 1. A node has at most one link, and a link at most one node; a node is attached exactly while it
//    has a link.
// 2. A device is leased to at most one run.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/step.h"
#include "core/model.h"

namespace assay::core::cluster {

// The agent that a rank table's node refers to.
struct NodeMatch {
  std::string agent;  // the agent's name; "" if no agent matches, or more than one
  bool attached = false;
  std::string problem;  // for the user: why there is no attached agent; "" if there is one
};

class Fleet {
 public:
  // Marks nodes that were attached when the last process ended as lost since `now`.
  // REQUIRES: the pointers outlive it.
  Fleet(std::map<std::string, Node, std::less<>>* nodes, Leases* leases, Ms agent_timeout, Ms now);

  // Handles the Hello of an agent. caller: of the link. Returns the node's name if the agent is
  // attached. Otherwise it returns no value and has ended the link with the reason.
  //
  // The same identity replaces its own older link at once, but never a newer one: events of
  // different links are not ordered, so the Hello of a broken link may arrive late, and its list of
  // held runs is then out of date. Another identity takes over a name only after the agent with
  // that name has been lost for agent_timeout.
  std::optional<std::string> Attach(LinkId link, const Node& said, const Caller& caller,
                                    const Stepping& step);

  // Handles the close of a link. Returns the name of the node that was attached through it, if any.
  std::optional<std::string> Detach(LinkId link, const Stepping& step);

  // The node that is attached through `link`; null if none is.
  const Node* NodeOf(LinkId link) const;
  std::optional<LinkId> LinkOf(std::string_view node) const;

  // Finds the agent of a node by name, else host name, else FQDN, else address. The first kind with
  // any match decides; if two agents match by that kind, there is no match. Loopback and link-local
  // addresses, and addresses that two agents report, never match.
  NodeMatch Match(const rank_table::TableNode& node) const;
  // The name under which a node's devices are leased: the agent's, attached or not, else the
  // node's own.
  std::string LeaseName(const rank_table::TableNode& node) const;

  std::optional<RunId> HolderOf(const DeviceKey& device) const;
  void Lease(const DeviceKey& device, RunId run, const Stepping& step);
  // Releases the device if `run` holds it.
  void Release(const DeviceKey& device, RunId run, const Stepping& step);
  // Releases every device of `node` that is leased to a run for which held(run) is false.
  template <class Held>
  void ReleaseUnless(const std::string& node, Held held, const Stepping& step);

  // Removes the node and its leases. Returns why it cannot, or no value if the node was removed.
  std::optional<Refusal> Forget(const std::string& node, const Caller& caller,
                                const Stepping& step);

 private:
  // The ways to find an attached agent if no agent has the name.
  enum Kind { kHostName, kFqdn, kAddress, kKinds };
  using Names = std::map<std::string, std::set<std::string>, std::less<>>;
  void Index(const Node& node, bool attached);
  std::set<std::string> Find(const rank_table::TableNode& node, int kind) const;

  std::map<std::string, Node, std::less<>>& nodes_;
  Leases& leases_;
  Ms agent_timeout_;
  std::map<LinkId, std::string> node_of_;
  std::map<std::string, LinkId, std::less<>> link_of_;
  std::map<std::string, LinkId, std::less<>> newest_link_of_;  // of nodes attached or not
  Names found_by_[kKinds];                                     // attached nodes: key -> names
};

template <class Held>
void Fleet::ReleaseUnless(const std::string& node, Held held, const Stepping& step) {
  auto it = leases_.lower_bound(DeviceKey{node, INT32_MIN});
  while (it != leases_.end() && it->first.node == node) {
    if (held(it->second)) {
      ++it;
      continue;
    }
    step.Store(DropLease{it->first});
    it = leases_.erase(it);
  }
}

}  // namespace assay::core::cluster
