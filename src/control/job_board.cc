#include "control/job_board.h"

#include <cassert>
#include <utility>

namespace assay::control {

void JobBoard::Apply(core::SignalPtr signal) {
  const std::uint64_t change = signal->change;
  assert(change > last_change_);
  last_change_ = change;
  snapshot_.reset();
  Changes& changes = jobs_[signal->job.id];
  items_.erase(changes.present);
  changes.present = 0;
  if (signal->deleted) {
    items_.erase(changes.deleted);
    changes.deleted = change;
  } else {
    changes.present = change;
  }
  Item item;
  item.signal = std::move(signal);
  items_.emplace_hint(items_.end(), change, std::move(item));
}

std::uint64_t JobBoard::Forget(const std::string& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return 0;
  const std::uint64_t change = std::exchange(found->second.deleted, 0);
  if (found->second.present == 0) jobs_.erase(found);
  if (items_.erase(change) != 0) snapshot_.reset();
  return change;
}

void JobBoard::Clear() {
  items_.clear();
  jobs_.clear();
  last_change_ = 0;
  snapshot_.reset();
}

bool JobBoard::Outlived(const Item& item) const {
  return item.signal->deleted && jobs_.find(item.signal->job.id)->second.present != 0;
}

JobBoard::Item* JobBoard::After(std::uint64_t cursor, std::uint64_t came) {
  auto found = items_.upper_bound(cursor);
  while (found != items_.end() && found->first <= came && Outlived(found->second)) ++found;
  return found == items_.end() ? nullptr : &found->second;
}

JobBoard::Item* JobBoard::Find(std::uint64_t change) {
  const auto found = items_.find(change);
  return found == items_.end() ? nullptr : &found->second;
}

JobBoard::SnapshotPtr JobBoard::Snapshot() {
  if (snapshot_ == nullptr) {
    std::vector<core::SignalPtr> signals;
    signals.reserve(items_.size());
    for (const auto& [change, item] : items_) {
      if (!Outlived(item)) signals.push_back(item.signal);
    }
    snapshot_ = std::make_shared<const std::vector<core::SignalPtr>>(std::move(signals));
  }
  return snapshot_;
}

}  // namespace assay::control
