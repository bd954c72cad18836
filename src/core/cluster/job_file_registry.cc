#include "core/cluster/job_file_registry.h"

#include <algorithm>
#include <utility>

namespace assay::core::cluster {

bool JobFileRegistry::Knows(const JobApplied& applied) const {
  const auto known = durable_.job_files.find(applied.spec.id);
  return !applied.file.empty() && known != durable_.job_files.end() &&
         known->second.fingerprint == applied.file;
}

void JobFileRegistry::Applied(const JobApplied& applied, const Stepping& step) {
  if (!applied.file.empty()) return Put(applied.spec.id, {applied.file, true}, step);
  const auto known = durable_.job_files.find(applied.spec.id);
  if (known != durable_.job_files.end())
    Put(known->first, {known->second.fingerprint, false}, step);
}

std::string JobFileRegistry::Deleted(const std::string& job, const Stepping& step) {
  const auto known = durable_.job_files.find(job);
  if (known == durable_.job_files.end()) return "";
  Put(job, {known->second.fingerprint, false}, step);
  return "its file still exists in the jobs directory; the job is applied again if that changes";
}

bool JobFileRegistry::Owns(const std::string& job) const {
  const auto known = durable_.job_files.find(job);
  return known != durable_.job_files.end() && known->second.owner && durable_.jobs.contains(job);
}

void JobFileRegistry::Forget(const std::string& job, const Stepping& step) {
  if (durable_.job_files.erase(job) > 0) step.Store(DropJobFile{job});
}

std::vector<std::string> JobFileRegistry::Missing(const std::vector<std::string>& files) const {
  std::vector<std::string> missing;
  for (const auto& [job, file] : durable_.job_files) {
    if (!std::binary_search(files.begin(), files.end(), job)) missing.push_back(job);
  }
  return missing;
}

void JobFileRegistry::Put(const std::string& job, JobFile file, const Stepping& step) {
  JobFile& known = durable_.job_files[job];
  if (known == file) return;
  known = std::move(file);
  step.Store(PutJobFile{job, known});
}

}  // namespace assay::core::cluster
