// Inputs from other threads to the agent's loop: completions of the coordinator's stream, and the
// process's stop requests.
//
// The stream's messages themselves stay in the stream: it has at most one read and one write in
// flight, and the loop starts the next when it has consumed the last. So the order of the queue
// does not matter, and a coordinator that floods the agent is held back.
#pragma once

#include <cstdint>

#include "lockfree/mailbox.h"

namespace assay::agent {

struct AgentInput {
  enum class Kind : std::uint8_t {
    kStreamRead,   // a message has arrived; !ok: no more will arrive
    kStreamWrote,  // !ok: the stream is broken
    kStreamEnded,  // the last input of a stream; its status is available
    kStop,
    kForceStop,
    kAbandon,  // end as a kill would
  };
  Kind kind = Kind::kStop;
  bool ok = false;
  std::uint64_t stream = 0;
};
using AgentInbox = lockfree::Mailbox<AgentInput>;

}  // namespace assay::agent
