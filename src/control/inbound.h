// What arrives in the control loop's mailbox: the core's events, each with the object in the shell
// that it concerns, and the few things that concern the shell alone.
//
// Ids (calls, streams, links) come from one counter and are never used again, so an id that comes
// late can only name what it was made for. Pointers are for the loop, which alone decides whether
// their objects may still be touched.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.h"
#include "control/ports.h"
#include "core/event.h"
#include "lockfree/mailbox.h"

namespace assay {

struct Inbound {
  enum class Kind : std::uint8_t {
    kNone,
    kCall,          // event, call
    kStreamOpened,  // event (StreamOpened), stream
    kStreamClosed,  // the client went away
    kStreamDone,    // the stream's object is gone; its last word
    kLinkOpened,    // link
    kLinkSaid,      // event (LinkSaid)
    kLinkClosed,    // the agent went away, or `status` says why it has to
    kLinkDone,      // the link's object is gone; its last word
    kStop,
  };
  Kind kind = Kind::kNone;
  bool close_posted =
      false;  // kStreamDone, kLinkDone: a closed was posted, and may come after this
  std::uint64_t id = 0;
  union {
    PendingCall* call = nullptr;
    StreamPort* stream;
    LinkPort* link;
  };
  std::unique_ptr<Event> event;
  std::unique_ptr<Status> status;
};

using LoopMailbox = Mailbox<Inbound>;

}  // namespace assay
