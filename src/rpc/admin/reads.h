// The operators' questions, answered from the database by a connection that only reads.
//
// One answer is one view of the database; the pages of a list are read one by one and may differ in
// what happened between them. A page ends early rather than pass kPageBytes, and says so in the
// usual way. Answers that cannot be paged (a job with all its ranks, a run with its message) may be
// larger than gRPC's default of 4 MiB: clients of Admin raise theirs.
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

namespace assay {

namespace admin {
class Job;
}

class AdminReads {
 public:
  // REQUIRES: the store has opened the database.
  static Result<std::unique_ptr<AdminReads>> Open(const std::string& db);

  Reply ListJobs(const grpc::ByteBuffer& request);
  Reply GetJob(const grpc::ByteBuffer& request);
  Reply ListRuns(const grpc::ByteBuffer& request);
  Reply GetRun(const grpc::ByteBuffer& request);
  Reply ListNodes(const grpc::ByteBuffer& request);

  // Without ranks. kNotFound when it is gone.
  Status ReadJob(const std::string& id, admin::Job* job);

 private:
  static constexpr std::size_t kPageBytes = std::size_t{3} << 20;

  explicit AdminReads(std::unique_ptr<Queries> queries) : queries_(std::move(queries)) {}

  const std::unique_ptr<Queries> queries_;
};

}  // namespace assay
