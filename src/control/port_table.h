// The life of a stream or a link in the control loop: what its table (stream_table.h) has in common
// with the other's.
//
// The table is the one owner of the order of open and close. The mailbox is FIFO per posting thread
// only, and gRPC runs one stream's reactions on several threads, so an object's items arrive in any
// order:
//   opened   once
//   closed   at most once: the peer has disconnected, or the object must be ended
//   done     once, posted last: the object is deleted. It reports whether a closed was posted
// The core gets, in this order: the open (of a link: its messages) and the close, each once; no
// close of what it does not have, and nothing of an object whose closed arrived first.
//
// An entry exists from the first item about its id until the last: opened and done have arrived,
// and closed too if done reports that one was posted.
//
// Thread safety: none; the control loop owns it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

namespace assay::control {

template <class Port>
struct PortLife {
  Port* port = nullptr;       // null: not opened yet
  bool open_in_core = false;  // the core has it and gets its close
  bool ended = false;         // its end was posted to the fan-out, or it is done
  bool closed = false;
  bool done = false;
  bool close_posted = false;  // valid once it is done
};

// Entry: derived from PortLife<Port>.
template <class Port, class Entry>
class PortTable {
 public:
  using Id = std::uint64_t;

  // False: its closed arrived earlier. The caller ends it, and the core does not get it.
  bool Opened(Id id, Port* port) {
    Entry& entry = entries_[id];
    entry.port = port;
    return !entry.closed;
  }
  // The core gets its open, or one of its messages, now. REQUIRES: opened, not closed.
  void MarkOpenInCore(Id id) { entries_[id].open_in_core = true; }
  // Closed, Done: true if the caller must pass the close to the core.
  bool Closed(Id id) {
    Entry& entry = entries_[id];
    entry.closed = true;
    return CloseInCore(id, &entry);
  }
  bool Done(Id id, bool close_posted) {
    Entry& entry = entries_[id];
    entry.done = true;
    entry.ended = true;
    entry.close_posted = close_posted;
    return CloseInCore(id, &entry);
  }

 protected:
  ~PortTable() = default;

  Entry* Find(Id id) {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second;
  }
  // The entry of an object that exists and is not ended; null if there is none.
  Entry* FindOpen(Id id) {
    Entry* const entry = Find(id);
    return entry == nullptr || entry->port == nullptr || entry->ended ? nullptr : entry;
  }

  std::unordered_map<Id, Entry> entries_;

 private:
  // Removes the entry if no item about it can follow.
  bool CloseInCore(Id id, Entry* entry) {
    const bool pass = std::exchange(entry->open_in_core, false);
    if (entry->done && (entry->closed || !entry->close_posted)) entries_.erase(id);
    return pass;
  }
};

}  // namespace assay::control
