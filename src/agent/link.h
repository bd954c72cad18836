// The agent's stream to its coordinator: kept up for ever, one attempt at most 5 s after the last.
//
//   Link link(coordinator, inbox);
//   link.Handle(input, now, &events);      // for inputs of the stream
//   link.Tick(now, &events);               // at NextDeadline
//   link.Send(message, now);               // what the supervisor wants said
//   link.Consumed();                       // the events were stepped: the next message may be read
//
// LinkUp is said when a connection stands and before anything was sent; then nothing is sent but
// what Send is given (the supervisor's Hello first) and, once the coordinator has said how often,
// heartbeats. LinkDown follows every LinkUp when the stream ends, for whatever reason; everything
// not yet written is dropped then, and while no stream stands Send drops as well: the supervisor
// says it again.
//
// It logs once that the coordinator cannot be reached, or refuses this agent and why, and once that
// it is attached.
//
// Every attempt is a new channel: no back-off, name lookup or connection of an earlier one is
// waited for. HTTP/2 pings find a coordinator that is gone without a word.
//
// Thread safety: none, the agent's loop owns it; gRPC's threads only post to the inbox. A stream
// that has not ended when the link is destroyed (see Close) is left to gRPC, with what it needs,
// and deleted when gRPC is done with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/inbox.h"
#include "base/status.h"
#include "core/node/supervisor.h"

namespace assay {

inline constexpr int kDefaultPort = 8899;

// "host", "host:port", "[::1]:port" -> what gRPC dials; kInvalid names what is wrong.
Result<std::string> CoordinatorTarget(std::string_view text);

struct LinkOptions {
  std::string target;  // of CoordinatorTarget
  std::string shown;   // as the operator gave it
  std::string node;    // for log lines
  // What is queued and not written; over it progress is dropped, and for anything else the stream
  // is ended so that all is said anew.
  std::size_t queue_messages_max = 4096;
  std::size_t queue_bytes_max = std::size_t{16} << 20;
};

class Link {
 public:
  Link(LinkOptions options, std::shared_ptr<AgentInbox> inbox);
  ~Link();

  void Handle(const AgentInput& input, Ms now, std::vector<NodeEvent>* out);
  void Tick(Ms now, std::vector<NodeEvent>* out);
  Ms NextDeadline(Ms now) const;
  void Send(const AgentMessage& message, Ms now);
  void Consumed();

  bool up() const;               // between LinkUp and LinkDown
  std::uint64_t stream() const;  // which one is up, never the same twice; 0: none

  // Ends the stream, so that everything is said anew on the next.
  void Drop(const std::string& why, std::vector<NodeEvent>* out);

  // Sends what is queued, says goodbye and starts nothing any more; closed() within 1 s of ticks.
  void Close(Ms now);
  bool closed() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
