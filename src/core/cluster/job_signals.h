// Publishes a signal for every change of every job, and retains the deletions of jobs for a while.
//
// Thread safety: none; the cluster owns it.
//
// Invariants:
// 1. Every change of a job that a subscriber can see is exactly one signal, and nothing else causes
//    a signal: setting the same state again causes none.
// 2. The signals published from the first step on are complete: a job board that is empty before
//    the first step has after it the newest state of every present job, and every retained deletion
//    that is less than `deleted_kept` old. The deletion of a job comes before the state of a job
//    that was applied later with the same id.
// 3. Of each job id only the latest deletion is retained, even while a job with that id exists
//    again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/cluster/step.h"
#include "core/settings.h"
#include "core/signal.h"

namespace assay::core::cluster {

class JobSignals {
 public:
  // REQUIRES: durable outlives it.
  JobSignals(const Settings& settings, Durable* durable);

  // Publishes the loaded jobs and deletions. Call once, before anything else is published.
  void PublishAll(const Stepping& step);
  void Changed(const Job& job, const Stepping& step);
  // Call with a job that was just removed from durable->jobs.
  void Deleted(const Job& job, const Stepping& step);

  // Drops the deletions that are `deleted_kept` old.
  void Tick(const Stepping& step);
  Ms NextDeadline(Ms none) const;

 private:
  void Publish(Signal signal, const Stepping& step);
  void Forget(const std::string& job, const Stepping& step);

  const Ms deleted_kept_;
  const std::size_t deleted_max_;
  Durable& durable_;
  std::uint64_t changes_ = 0;
  std::set<std::pair<Ms, std::string>> by_end_;  // index of durable_.deleted by time of deletion
};

}  // namespace assay::core::cluster
