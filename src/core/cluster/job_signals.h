// Tells subscribers of every change of every job, and remembers for a while the jobs that went.
//
// Invariants:
// 1. A change of a job that a subscriber can see is one signal, and nothing else is: the same state
//    set again is none.
// 2. What is published from the first step on is the whole truth: a board that begins empty has
//    seen, after it, the newest state of every present job, and the end of every job's life that
//    was deleted less than `deleted_kept` ago, each job's in the order of its lives.
// 3. Of a job several lives may have ended; the newest end is kept, also while the job lives again.
//
// Thread safety: none; the cluster owns it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/cluster/step.h"
#include "core/settings.h"
#include "core/signal.h"

namespace assay {

class JobSignals {
 public:
  // REQUIRES: durable outlives it.
  JobSignals(const Settings& settings, Durable* durable);

  // Once, before anything else is published: what there was before this process.
  void PublishAll(const Stepping& step);
  void Changed(const Job& job, const Stepping& step);
  // The job was in durable->jobs until now, and has gone.
  void Deleted(const Job& job, const Stepping& step);

  // Forgets the ends that were kept long enough.
  void Tick(const Stepping& step);
  Ms NextDeadline(Ms none) const;

 private:
  void Publish(Signal signal, const Stepping& step);
  void Forget(const std::string& job, const Stepping& step);

  const Ms deleted_kept_;
  const std::size_t deleted_max_;
  Durable& durable_;
  std::uint64_t changes_ = 0;
  std::set<std::pair<Ms, std::string>> by_end_;  // of durable_.deleted
};

}  // namespace assay
