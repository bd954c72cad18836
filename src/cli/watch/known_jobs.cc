#include "cli/watch/known_jobs.h"

#include <utility>

namespace assay::cli::watch {
namespace {

constexpr char kDelete[] = "delete";

}  // namespace

void KnownJobs::Apply(job::JobSummarySignal&& signal) {
  if (signal.operator_() == kDelete) {
    jobs_.erase(signal.jobid());
    return;
  }
  Known& known = jobs_[signal.jobid()];
  known.signal = std::move(signal);
  known.generation = generation_;
}

std::vector<job::JobSummarySignal> KnownJobs::EndSnapshot() {
  std::vector<job::JobSummarySignal> gone;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (it->second.generation == generation_) {
      ++it;
      continue;
    }
    job::JobSummarySignal& signal = gone.emplace_back(std::move(it->second.signal));
    signal.set_operator_(kDelete);
    signal.clear_deletetime();
    it = jobs_.erase(it);
  }
  return gone;
}

}  // namespace assay::cli::watch
