#include "core/cluster/job_signals.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

namespace assay::core::cluster {
namespace {

// The maximum size in bytes of the rank table that is retained with a deletion; enough for some
// hundred ranks.
constexpr std::size_t kDeletedTableMax = 16 * 1024;

Signal SignalOf(const Job& job) {
  Signal signal;
  signal.job = job.spec;
  signal.state = job.state;
  signal.created = job.created;
  signal.ended = job.ended;
  signal.hccl = job.hccl;
  return signal;
}

Signal SignalOf(const DeletedJob& job) {
  Signal signal;
  signal.job = job.spec;
  signal.state = job.state;
  signal.deleted = true;
  signal.created = job.created;
  signal.ended = job.deleted;
  signal.hccl = job.hccl;
  return signal;
}

}  // namespace

JobSignals::JobSignals(const Settings& settings, Durable* durable)
    : deleted_kept_(settings.deleted_kept), deleted_max_(settings.deleted_max), durable_(*durable) {
  for (const auto& [id, job] : durable_.deleted) by_end_.emplace(job.deleted, id);
}

void JobSignals::PublishAll(const Stepping& step) {
  // Publish in the order of the changes, as far as it is known. The deletion of a job comes before
  // the state of the later job with the same id.
  using Moment = std::tuple<Ms, bool, const Job*, const DeletedJob*>;
  std::vector<Moment> moments;
  moments.reserve(durable_.jobs.size() + durable_.deleted.size());
  for (const auto& [id, job] : durable_.deleted) {
    moments.emplace_back(job.deleted, false, nullptr, &job);
  }
  for (const auto& [id, job] : durable_.jobs) {
    // The job was created after the deletion of the earlier one, even if the clock was set back.
    const auto before = durable_.deleted.find(id);
    const Ms ended = before == durable_.deleted.end() ? 0 : before->second.deleted;
    moments.emplace_back(std::max(job.updated, ended), true, &job, nullptr);
  }
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  for (const auto& [when, present, job, deleted] : moments) {
    Publish(present ? SignalOf(*job) : SignalOf(*deleted), step);
  }
}

void JobSignals::Changed(const Job& job, const Stepping& step) { Publish(SignalOf(job), step); }

void JobSignals::Deleted(const Job& job, const Stepping& step) {
  DeletedJob gone;
  gone.spec = job.spec;
  gone.state = job.state;
  gone.created = job.created;
  gone.deleted = step.now;
  // Large tables are not retained, so that many deletions of large jobs do not fill the memory.
  static const auto kNoTable = std::make_shared<const std::string>();
  gone.hccl = job.hccl->size() <= kDeletedTableMax ? job.hccl : kNoTable;
  Publish(SignalOf(gone), step);
  const std::string& id = job.spec.id;
  if (const auto older = durable_.deleted.find(id); older != durable_.deleted.end()) {
    by_end_.erase({older->second.deleted, id});
  }
  by_end_.emplace(gone.deleted, id);
  step.Store(PutDeletedJob{gone});
  durable_.deleted.insert_or_assign(id, std::move(gone));
  if (durable_.deleted.size() > deleted_max_) {
    Forget(std::string(by_end_.begin()->second), step);
  }
}

void JobSignals::Tick(const Stepping& step) {
  while (!by_end_.empty() && by_end_.begin()->first + deleted_kept_ <= step.now) {
    Forget(std::string(by_end_.begin()->second), step);
  }
}

Ms JobSignals::NextDeadline(Ms none) const {
  return by_end_.empty() ? none : std::min(none, by_end_.begin()->first + deleted_kept_);
}

void JobSignals::Publish(Signal signal, const Stepping& step) {
  signal.change = ++changes_;
  step.Do(PublishSignal{std::make_shared<const Signal>(std::move(signal))});
}

void JobSignals::Forget(const std::string& job, const Stepping& step) {
  const auto found = durable_.deleted.find(job);
  by_end_.erase({found->second.deleted, job});
  durable_.deleted.erase(found);
  step.Store(DropDeletedJob{job});
  step.Do(ForgetDeleted{job});
}

}  // namespace assay::core::cluster
