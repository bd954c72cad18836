// Which content of which file of the jobs directory was taken last, and which jobs live by one
// (docs/jobs.md). The newest word about a job counts, whether a file says it or a person:
//
// 1. A content that was taken is no news until it changes, whatever became of the job: neither a
//    restart nor a new look at the directory undoes what a person said after it.
// 2. A job goes with its file only if the file said the last word about it.
//
// Thread safety: none; the cluster owns it.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/step.h"
#include "core/event.h"
#include "core/model.h"

namespace assay {

class JobFiles {
 public:
  // REQUIRES: durable outlives it.
  explicit JobFiles(Durable* durable) : durable_(*durable) {}

  // It comes from a file whose content is no news.
  bool Knows(const JobApplied& applied) const;
  // It was applied, by a file or by somebody.
  void Applied(const JobApplied& applied, const Stepping& step);
  // Somebody deletes the job. Answers what a person has to know of it, or "".
  std::string Deleted(const std::string& job, const Stepping& step);

  // The job exists and goes with its file.
  bool Owns(const std::string& job) const;
  // The file is gone; what was known of it goes too.
  void Forget(const std::string& job, const Stepping& step);
  // Jobs of which a file is known that is not among these. REQUIRES: files ascend.
  std::vector<std::string> Missing(const std::vector<std::string>& files) const;

 private:
  void Put(const std::string& job, JobFile file, const Stepping& step);

  Durable& durable_;
};

}  // namespace assay
