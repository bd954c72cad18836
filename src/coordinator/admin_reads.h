// The operators' questions, answered from the database by a connection that only reads.
//
// Everything is read in one view of the database, so a page fits together; pages of one list are
// read one by one and may differ in what happened between them. Responses stay under 4 MiB.
//
// Thread safety: none; the reader's thread owns it.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/unary_call.h"
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
  explicit AdminReads(std::unique_ptr<Queries> queries) : queries_(std::move(queries)) {}

  std::unique_ptr<Queries> queries_;
};

}  // namespace assay
