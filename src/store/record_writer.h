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
#include "core/run_counts.h"
#include "store/sqlite.h"

namespace assay::store {

class RecordWriter {
 public:
  static base::Result<std::unique_ptr<RecordWriter>> Make(Database* database);

  // REQUIRES: within a transaction; on an error it must be rolled back.
  base::Status Write(const std::vector<core::Record>& records);

  base::Status operator()(const core::PutJob& record);
  base::Status operator()(const core::DropJob& record);
  base::Status operator()(const core::PutDeletedJob& record);
  base::Status operator()(const core::DropDeletedJob& record);
  base::Status operator()(const core::PutJobFile& record);
  base::Status operator()(const core::DropJobFile& record);
  base::Status operator()(const core::PutRun& record);
  base::Status operator()(const core::PutRunHeader& record);
  base::Status operator()(const core::PutPart& record);
  base::Status operator()(const core::PutRank& record);
  base::Status operator()(const core::PutStarts& record);
  base::Status operator()(const core::PutOutcome& record);
  base::Status operator()(const core::PutNode& record);
  base::Status operator()(const core::DropNode& record);
  base::Status operator()(const core::PutLease& record);
  base::Status operator()(const core::DropLease& record);
  base::Status operator()(const core::AddEvent& record);

 private:
  RecordWriter() = default;
  struct Named;
  static base::Status PrepareAll(Database* database, std::span<const Named> all);
  base::Status PrepareJobs(Database* database);
  base::Status PrepareRuns(Database* database);
  base::Status PrepareNodes(Database* database);
  base::Status PutTable(const core::Job& job);
  base::Status PutHeader(const core::RunHeader& run);
  base::Status PutRanks(const core::Run& run);
  base::Status PutOne(core::RunId run, std::int32_t rank, core::Op op,
                      const core::Outcome& outcome);
  base::Status CountClosed(core::RunId run);
  base::Status Count(core::RunId run, core::RunCounts* counts);

  struct {
    Statement put_job, drop_job, drop_table, drop_job_nodes, drop_ranks, put_table, put_job_node,
        put_rank, put_deleted, drop_deleted, put_job_file, drop_job_file;
    Statement put_run, drop_parts, drop_run_ranks, put_part, put_run_rank, set_rank, set_starts,
        put_outcome, is_closed, select_ranks, set_counts, use_number;
    Statement put_node, drop_node, unlist_devices, drop_unlisted, put_device, put_lease, drop_lease,
        drop_unlisted_device;
    Statement add_event;
  } sql_;
  std::set<core::RunId> touched_;  // runs of which this batch has a header or an outcome
};

}  // namespace assay::store
