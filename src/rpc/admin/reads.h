// Answers the operators' queries from the database, over a read-only connection.
//
// One answer is one consistent view of the database. The pages of a list are read separately, so
// changes may happen between them. A page ends early rather than exceed kPageBytes, and reports
// that like any other incomplete page. Answers that cannot be paged (a job with all its ranks, a
// run with its message) may exceed gRPC's default limit of 4 MiB: clients of Admin raise theirs.
//
// Thread safety: none; the reader's thread owns it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "rpc/unary_call.h"
#include "store/queries.h"

namespace assay::admin {
class Job;
}  // namespace assay::admin

namespace assay::rpc::admin {

class AdminReads {
 public:
  // REQUIRES: the store has opened the database.
  static base::Result<std::unique_ptr<AdminReads>> Open(const std::string& db);

  Reply ListJobs(const grpc::ByteBuffer& request);
  Reply GetJob(const grpc::ByteBuffer& request);
  Reply ListRuns(const grpc::ByteBuffer& request);
  Reply GetRun(const grpc::ByteBuffer& request);
  Reply ListNodes(const grpc::ByteBuffer& request);

  // Fills `job` without its ranks. kNotFound when there is no such job.
  base::Status ReadJob(const std::string& id, assay::admin::Job* job);

 private:
  static constexpr std::size_t kPageBytes = std::size_t{3} << 20;

  explicit AdminReads(std::unique_ptr<store::Queries> queries) : queries_(std::move(queries)) {}

  const std::unique_ptr<store::Queries> queries_;
};

}  // namespace assay::rpc::admin
