// Writes records as rows. record_writer.cc contains every statement that writes to the
// coordinator's tables.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "store/sqlite.h"

namespace assay {

class RecordWriter {
 public:
  static Result<std::unique_ptr<RecordWriter>> Make(Database* database);

  // REQUIRES: within a transaction; on an error it must be rolled back.
  Status Write(const std::vector<Record>& records);

  Status operator()(const PutJob& record);
  Status operator()(const DropJob& record);
  Status operator()(const PutDeletedJob& record);
  Status operator()(const DropDeletedJob& record);
  Status operator()(const PutJobFile& record);
  Status operator()(const DropJobFile& record);
  Status operator()(const PutRun& record);
  Status operator()(const PutRunHeader& record);
  Status operator()(const PutPart& record);
  Status operator()(const PutRank& record);
  Status operator()(const PutStarts& record);
  Status operator()(const PutOutcome& record);
  Status operator()(const PutNode& record);
  Status operator()(const DropNode& record);
  Status operator()(const PutLease& record);
  Status operator()(const DropLease& record);
  Status operator()(const AddEvent& record);

 private:
  RecordWriter() = default;
  struct Named;
  static Status PrepareAll(Database* database, std::span<const Named> all);
  Status PrepareJobs(Database* database);
  Status PrepareRuns(Database* database);
  Status PrepareNodes(Database* database);
  Status PutTable(const Job& job);
  Status PutHeader(const RunHeader& run);
  Status PutRanks(const Run& run);
  Status PutOne(RunId run, std::int32_t rank, Op op, const Outcome& outcome);
  Status CountClosed(RunId run);

  struct {
    Statement put_job, drop_job, drop_table, drop_job_nodes, drop_ranks, put_table, put_job_node,
        put_rank, put_deleted, drop_deleted, put_job_file, drop_job_file;
    Statement put_run, drop_parts, drop_run_ranks, put_part, put_run_rank, set_rank, set_starts,
        put_outcome, is_closed, count_outcomes, count_answered, count_suspect, set_counts;
    Statement put_node, drop_node, unlist_devices, drop_unlisted, put_device, put_lease, drop_lease,
        drop_unlisted_device;
    Statement add_event;
  } sql_;
  std::set<RunId> touched_;  // runs of which this batch has a header or an outcome
};

}  // namespace assay
