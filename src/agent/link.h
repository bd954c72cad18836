// The agent's stream to its coordinator. Reconnects forever: a new attempt starts at most 5 s after
// the last one.
//
//   Link link(options, inbox);
//   link.Handle(input, now, &events);      // for inputs of the stream
//   link.Tick(now, &events);               // at NextDeadline
//   link.Send(message, now);               // the supervisor's messages
//   link.Consumed();                       // after stepping the events: allows the next read
//
// The link emits LinkUp once a connection is established, before it sends anything. From then on it
// sends only what Send receives (the supervisor's Hello first) and, once the coordinator has named
// an interval, heartbeats. It emits LinkDown for every LinkUp when the stream ends, for whatever
// reason, and then drops everything not yet written. Send also drops messages while no stream is
// up. The supervisor sends everything again after the next LinkUp.
//
// It logs once that the coordinator is unreachable, or that it refuses this agent and why, and once
// that the agent is attached.
//
// Every attempt uses a new channel, so that it does not wait for the back-off, name lookup or
// connection of an earlier attempt. HTTP/2 pings detect a coordinator that vanished without closing
// the connection.
//
// Thread safety: none, the agent's loop owns it; gRPC's threads only post to the inbox.
// Lifetime: a stream that has not ended when the link is destroyed (see Close) is left to gRPC
// together with what it needs, and is deleted when gRPC has finished with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/inbox.h"
#include "agent/ports.h"
#include "base/status.h"
#include "core/node/supervisor.h"

namespace assay::agent {

// Returns the target that gRPC dials for the address of a coordinator (base/host_port.h).
// kInvalid names the flag and the mistake.
base::Result<std::string> CoordinatorTarget(std::string_view text);

struct LinkOptions {
  std::string target;  // of CoordinatorTarget
  std::string shown;   // as the operator wrote it
  std::string node;    // for log lines
  // Limits of the queue of unwritten messages. A Progress beyond them is dropped; any other message
  // ends the stream, so that everything is sent again on the next.
  std::size_t queue_messages_max = 4096;
  std::size_t queue_bytes_max = std::size_t{16} << 20;
};

class Link final : public LinkPort {
 public:
  Link(LinkOptions options, std::shared_ptr<AgentInbox> inbox);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void Handle(const AgentInput& input, core::Ms now, std::vector<core::node::NodeEvent>* out);
  void Tick(core::Ms now, std::vector<core::node::NodeEvent>* out);
  core::Ms NextDeadline(core::Ms now) const;

  void Send(const core::AgentMessage& message, core::Ms now) override;
  void Consumed() override;
  bool up() const override;
  std::uint64_t stream() const override;
  void Drop(const std::string& why, std::vector<core::node::NodeEvent>* out) override;
  // Half-closes the stream; closed() becomes true within 1 s of ticks.
  void Close(core::Ms now) override;
  bool closed() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::agent
