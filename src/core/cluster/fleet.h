// The machines with agents: who is attached, who may take a name, which agent a rank table's node
// means, and which run holds a device.
//
// Invariants:
// 1. A node has at most one link, and a link at most one node; a node is attached exactly while it
// has one.
// 2. A device is leased to at most one run.
//
// Nodes and leases live in Durable; links do not outlive the process. Thread safety: none; the
// cluster owns it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/step.h"
#include "core/model.h"

namespace assay {

// Which agent a rank table's node means.
struct NodeMatch {
  std::string agent;  // its name; "" when there is none, or more than one
  bool attached = false;
  std::string problem;  // why no attached agent was found, for people; "" when one was
};

class Fleet {
 public:
  // REQUIRES: the pointers outlive it. Nodes that were attached when the process ended are lost
  // since `now`.
  Fleet(std::map<std::string, Node, std::less<>>* nodes, Leases* leases, Ms agent_timeout, Ms now);

  // An agent says hello on a link. Attached: the node's name. Refused: no value; the link has been
  // ended with the reason. The same identity replaces its own older link at once, and never a newer
  // one: links are not ordered among each other, so the hello of one that broke may come late, and
  // it tells what was held before. Another identity takes a name over only when the first has been
  // lost for agent_timeout.
  std::optional<std::string> Attach(LinkId link, const Node& said, const Stepping& step);

  // The link is gone. The node's name, if it was attached through it.
  std::optional<std::string> Detach(LinkId link, const Stepping& step);

  // The node attached through `link`; null when there is none.
  const Node* NodeOf(LinkId link) const;
  std::optional<LinkId> LinkOf(std::string_view node) const;

  // By name, else host name, else FQDN, else address: the first kind that matches anything decides,
  // and two agents of that kind are no match. Loopback, link-local and addresses that two agents
  // report never match.
  NodeMatch Match(const TableNode& node) const;
  // The name under which a node's devices are leased: its agent's, attached or not, else its own.
  std::string LeaseName(const TableNode& node) const;

  std::optional<RunId> HolderOf(const DeviceKey& device) const;
  void Lease(const DeviceKey& device, RunId run, const Stepping& step);
  void Release(const DeviceKey& device, RunId run, const Stepping& step);  // if that run holds it
  // Every device of `node` held by a run for which `held` is false.
  template <class Held>
  void ReleaseUnless(const std::string& node, Held held, const Stepping& step);

  // Why the node cannot be forgotten; no value: it is forgotten, with its leases.
  std::optional<Status> Forget(const std::string& node, const Stepping& step);

 private:
  // By which an attached agent is found when none has the name.
  enum Kind { kHostName, kFqdn, kAddress, kKinds };
  using Names = std::map<std::string, std::set<std::string>, std::less<>>;
  void Index(const Node& node, bool attached);
  std::set<std::string> Find(const TableNode& node, int kind) const;

  std::map<std::string, Node, std::less<>>& nodes_;
  Leases& leases_;
  Ms agent_timeout_;
  std::map<LinkId, std::string> node_of_;
  std::map<std::string, LinkId, std::less<>> link_of_;
  std::map<std::string, LinkId, std::less<>> newest_link_of_;  // attached or not
  Names found_by_[kKinds];                                     // of attached nodes: key -> names
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

}  // namespace assay
