// What other threads tell the agent's loop: reactions of the coordinator's stream, and the
// process's wish to stop.
//
// The stream's messages themselves stay in the stream: it has one read and one write under way, and
// the loop starts the next when it has consumed the last (so the queue's order does not matter, and
// a coordinator that floods is held back).
#pragma once

#include <cstdint>

#include "lockfree/mailbox.h"

namespace assay {

struct AgentInput {
  enum class Kind : std::uint8_t {
    kStreamRead,   // a message is there; !ok: no more will come
    kStreamWrote,  // !ok: the stream is broken
    kStreamEnded,  // the last of a stream; its status is there
    kStop,
    kForceStop,
    kAbandon,  // end as if killed
  };
  Kind kind = Kind::kStop;
  bool ok = false;
  std::uint64_t stream = 0;
};
using AgentInbox = Mailbox<AgentInput>;

}  // namespace assay
