// The board of job signals: the newest signal of each present job and the newest delete of each
// deleted job, in the order of their changes. Subscribers are served from it alone.
//
//   JobBoard board;
//   board.Apply(signal);                          // at every change
//   while (JobBoard::Item* item = board.After(cursor, came)) {
//     ... send item to the subscriber ...
//     cursor = item->signal->change;
//   }
//
// A subscriber's position is a cursor, the number of the last change sent to it, together with the
// number of the last change before it attached. The items still to be sent are those on the board
// with a number above the cursor. All guarantees of job signals (docs/wire.md 9) follow from that,
// because a change is appended at the end and removes the items that it makes obsolete:
//   snapshot         a cursor of 0 precedes every item: every present job, every recently deleted
//                    job
//   order across     a subscriber that attached after a job's delete, and reaches that delete when
//   a reconnect      the job is present again, does not get it: its client may have seen the new
//                    life on an earlier stream
//   order            numbers ascend, those of one job too: a subscriber sees a subsequence of the
//                    job's changes
//   the last state   the job's last change stays on the board until its own next change replaces
//                    it (or, for a delete, until it is forgotten). So a subscriber that reaches the
//                    end of the board has seen it
//   no lost delete   only a later delete of the same job replaces a delete. So a subscriber that
//                    saw a life of the job and reaches the end of the board has since been sent
//                    the end of that life or of a later one
//   delete, then add a job that was deleted and applied again has two items; the delete has the
//                    lower number
//   conflation       a job that changes while a subscriber does not read has at most two items
//                    after that subscriber's cursor, however often it changes
//   no cost          a subscriber that does not read costs one number, and nothing per change: the
//                    board itself, shared by all, is the index of its unsent items
//
// Thread safety: none; one thread at a time. No I/O, clock or randomness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/ports.h"
#include "core/signal.h"

namespace assay::control {

class JobBoard {
 public:
  struct Item {
    core::SignalPtr signal;
    // Encoded on first use and shared by all subscribers.
    EncodedMessage single;
    EncodedMessage list;  // a list of this signal alone
  };
  using SnapshotPtr = std::shared_ptr<const std::vector<core::SignalPtr>>;

  // REQUIRES: the change numbers of applied signals ascend.
  void Apply(core::SignalPtr signal);
  // Removes the job's delete from the board. Returns its change number; 0: there is no delete.
  std::uint64_t Forget(const std::string& job);
  void Clear();

  // The next item to send to a subscriber at `cursor` that attached when the last change was
  // `came`; null: it has everything. Valid until the board changes.
  Item* After(std::uint64_t cursor, std::uint64_t came);
  // The item of that change; null: it was replaced or removed.
  Item* Find(std::uint64_t change);
  std::uint64_t last_change() const { return last_change_; }
  std::size_t size() const { return items_.size(); }

  // The signals that a subscriber attaching now must be sent, in order. Returns the same object
  // until the board changes.
  SnapshotPtr Snapshot();

 private:
  // Change numbers; 0: no such item.
  struct Changes {
    std::uint64_t present = 0;
    std::uint64_t deleted = 0;
  };

  // True: the item is the delete of a job that is present again.
  bool Outlived(const Item& item) const;

  std::map<std::uint64_t, Item> items_;
  std::unordered_map<std::string, Changes> jobs_;  // each job's items in items_
  std::uint64_t last_change_ = 0;
  SnapshotPtr snapshot_;
};

}  // namespace assay::control
