// Remembers the ids (of streams or links) whose close event arrived before their open event: the
// callbacks of one stream run on several threads, so the queue may deliver the events in either
// order.
//
// The open event is already on its way, so there are few such ids; the bound is for ids that are
// closed and never opened. Internal to the core. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>

namespace assay::core::cluster {

class ClosedEarly {
 public:
  void Add(std::uint64_t id) {
    if (!ids_.insert(id).second) return;
    order_.push_back(id);
    if (order_.size() <= kMax) return;
    ids_.erase(order_.front());
    order_.pop_front();
  }
  // Returns true, and removes the id, if it was closed early.
  bool Take(std::uint64_t id) { return ids_.erase(id) > 0; }

 private:
  static constexpr std::size_t kMax = 50'000;
  std::set<std::uint64_t> ids_;
  std::deque<std::uint64_t> order_;  // may still name ids that were taken
};

}  // namespace assay::core::cluster
