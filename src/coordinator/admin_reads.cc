#include "coordinator/admin_reads.h"
namespace assay {
Result<std::unique_ptr<AdminReads>> AdminReads::Open(const std::string&) {
  return std::unique_ptr<AdminReads>(new AdminReads(nullptr));
}
Reply AdminReads::ListJobs(const grpc::ByteBuffer&) { return {}; }
Reply AdminReads::GetJob(const grpc::ByteBuffer&) { return {}; }
Reply AdminReads::ListRuns(const grpc::ByteBuffer&) { return {}; }
Reply AdminReads::GetRun(const grpc::ByteBuffer&) { return {}; }
Reply AdminReads::ListNodes(const grpc::ByteBuffer&) { return {}; }
Status AdminReads::ReadJob(const std::string&, admin::Job*) { return Status::Ok(); }
}  // namespace assay
