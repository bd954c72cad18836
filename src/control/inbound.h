// The items of the control loop's mailbox: the core's events, each with the call, stream or link it
// belongs to, and the few items that the loop handles without the core.
//
// Ids (calls, streams, links) come from one counter and are never reused, so a late item can only
// name the object its id was made for. Only the control loop dereferences the pointers, because
// only it can tell whether their objects still exist.
//
// Thread safety: none; an item belongs to the poster until it is posted, then to the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.h"
#include "control/ports.h"
#include "core/event.h"
#include "lockfree/mailbox.h"

namespace assay::control {

struct Inbound {
  enum class Kind : std::uint8_t {
    kNone,
    kCall,          // event, call
    kStreamOpened,  // event (StreamOpened), stream
    kStreamClosed,  // the client disconnected or must be ended
    kStreamDone,    // the stream's object is deleted; no item of it is posted after this one
    kLinkOpened,    // link
    kLinkMessage,   // event (LinkMessage)
    kLinkClosed,    // the agent disconnected, or must be ended for the reason in `status`
    kLinkDone,      // the link's object is deleted; no item of it is posted after this one
    kStop,
  };
  Kind kind = Kind::kNone;
  // kStreamDone, kLinkDone: a kStreamClosed or kLinkClosed was posted; it may arrive after this
  // item.
  bool close_posted = false;
  std::uint64_t id = 0;
  union {
    PendingCall* call = nullptr;
    StreamPort* stream;
    LinkPort* link;
  };
  std::unique_ptr<core::Event> event;
  std::unique_ptr<base::Status> status;
};

using LoopMailbox = lockfree::Mailbox<Inbound>;

}  // namespace assay::control
