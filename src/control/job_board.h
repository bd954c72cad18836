// The board of job signals: the newest signal of each present job and the newest delete of each
// job that went, in the order of their changes. It is all that subscribers are served from.
//
//   JobBoard board;
//   board.Apply(signal);                          // at every change
//   while (JobBoard::Item* item = board.After(cursor, came)) {
//     ... give item to a subscriber ...
//     cursor = item->signal->change;
//   }
//
// A subscriber is a cursor: the number of the last change that it was given (beside it, the number
// at which it came). What it is still to get is whatever stands on the board with a higher number.
// From that alone follows all that job signals promise (docs/wire.md 9), because a change is put at
// the end and takes away what it makes untrue:
//   snapshot         a cursor of 0 has everything before it: every present job, every job deleted
//                    lately
//   order across     who came after a job's delete, and gets to it when the job lives again, is not
//   a reconnect      given it: he may have seen the new life on an earlier stream
//   order            numbers ascend, and so do those of one job: what a subscriber sees of a job is
//                    a subsequence of what happened to it
//   the last state   the job's last change stands on the board until its own next one replaces it
//                    (or, a delete, until it is forgotten). So whoever comes to the end of the
//                    board has seen it
//   no lost delete   a delete is replaced by a later delete of the same job only. Whoever saw a
//                    life of the job and comes to the end of the board has since been given its
//                    end, or that of a later life
//   delete, then add a job that was deleted and applied again has two items, and the delete has the
//                    lower number
//   conflation       a job that changes while a subscriber does not read has at most two items
//                    before that subscriber, however often it changes
//   no cost          a subscriber that does not read takes one number, and nothing at a change: the
//                    index of what it is still to get is the board itself, shared by all
//
// Thread safety: none. Pure.
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

namespace assay {

class JobBoard {
 public:
  struct Item {
    SignalPtr signal;
    // The bytes, as soon as somebody made them: the same for all subscribers.
    EncodedMessage single;
    EncodedMessage list;  // a list of this signal alone
  };
  using SnapshotPtr = std::shared_ptr<const std::vector<SignalPtr>>;

  // REQUIRES: the changes of what is applied ascend.
  void Apply(SignalPtr signal);
  // Takes away the job's delete. Its change; 0: there is none.
  std::uint64_t Forget(const std::string& job);
  void Clear();

  // What a subscriber that came when the last change was `came` is to be given after `cursor`;
  // null: it has all. Valid until the board changes.
  Item* After(std::uint64_t cursor, std::uint64_t came);
  // The item of that change, or null: it was replaced.
  Item* Find(std::uint64_t change);
  std::uint64_t last_change() const { return last_change_; }
  std::size_t size() const { return items_.size(); }

  // All that one who comes now is to be given, in order. The same object until the board changes.
  SnapshotPtr Snapshot();

 private:
  struct Changes {  // 0: none
    std::uint64_t present = 0;
    std::uint64_t deleted = 0;
  };

  // A delete of a job that lives again.
  bool Outlived(const Item& item) const;

  std::map<std::uint64_t, Item> items_;
  std::unordered_map<std::string, Changes> jobs_;  // where each job's items are
  std::uint64_t last_change_ = 0;
  SnapshotPtr snapshot_;
};

}  // namespace assay
