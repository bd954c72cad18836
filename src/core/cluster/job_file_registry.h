// The registry of files in the jobs directory: the fingerprint of the content that was last
// applied, per job, and which jobs a file owns (docs/jobs.md).
//
// Thread safety: none; the cluster owns it.
//
// Invariants; the last change to a job wins, whether it came from a file or from a client:
// 1. A file's content is applied once and ignored until it changes, whatever happens to the job
//    meanwhile: neither a restart nor another scan of the directory undoes a client's later change.
// 2. The removal of a file deletes the job only if the file made the last change to the job.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/step.h"
#include "core/event.h"
#include "core/model.h"

namespace assay::core::cluster {

class JobFileRegistry {
 public:
  // REQUIRES: durable outlives it.
  explicit JobFileRegistry(Durable* durable) : durable_(*durable) {}

  // Whether the event comes from a file whose content was applied before.
  bool Knows(const JobApplied& applied) const;
  // Call after the job was applied, by a file or by a client.
  void Applied(const JobApplied& applied, const Stepping& step);
  // Call when a client deletes the job. Returns a note for that client, or "".
  std::string Deleted(const std::string& job, const Stepping& step);

  // Whether the job exists and its file owns it.
  bool Owns(const std::string& job) const;
  // Drops the entry of a job whose file was removed.
  void Forget(const std::string& job, const Stepping& step);
  // The jobs with an entry that are not in `files`. REQUIRES: files ascend.
  std::vector<std::string> Missing(const std::vector<std::string>& files) const;

 private:
  void Put(const std::string& job, JobFile file, const Stepping& step);

  Durable& durable_;
};

}  // namespace assay::core::cluster
