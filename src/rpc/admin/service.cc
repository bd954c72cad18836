#include "rpc/admin/service.h"

#include <utility>

#include "admin.grpc.pb.h"
#include "rpc/admin/commands.h"
#include "rpc/admin/job_states_call.h"
#include "rpc/unary_call.h"

namespace assay::rpc::admin {
namespace {

using assay::admin::Admin;
using grpc::ByteBuffer;
using UnaryReactor = grpc::ServerUnaryReactor;

using AdminBase = Admin::WithRawCallbackMethod_ApplyJob<
    Admin::WithRawCallbackMethod_SetJobState<Admin::WithRawCallbackMethod_SetJobStates<
        Admin::WithRawCallbackMethod_DeleteJob<Admin::WithRawCallbackMethod_ListJobs<
            Admin::WithRawCallbackMethod_GetJob<Admin::WithRawCallbackMethod_StartRun<
                Admin::WithRawCallbackMethod_CancelRun<Admin::WithRawCallbackMethod_ListRuns<
                    Admin::WithRawCallbackMethod_GetRun<Admin::WithRawCallbackMethod_ListNodes<
                        Admin::WithRawCallbackMethod_ForgetNode<Admin::Service>>>>>>>>>>>>;

class AdminService final : public AdminBase {
 public:
  AdminService(const Gate* gate, control::TaskThread* parser, control::TaskThread* reader,
               AdminReads* reads)
      : gate_(gate), parser_(parser), reader_(reader), reads_(reads) {}

  UnaryReactor* ApplyJob(CallContext* context, const ByteBuffer* request,
                         ByteBuffer* response) override {
    return Order(Call::kAdminApplyJob, context, request, response,
                 ApplyJobHandling(reader_, reads_));
  }
  UnaryReactor* SetJobState(CallContext* context, const ByteBuffer* request,
                            ByteBuffer* response) override {
    return Order(Call::kAdminSetJobState, context, request, response, SetJobStateHandling());
  }
  UnaryReactor* SetJobStates(CallContext* context, const ByteBuffer* request,
                             ByteBuffer* response) override {
    return JobStatesCall::Serve(gate_, parser_, context, request, response);
  }
  UnaryReactor* DeleteJob(CallContext* context, const ByteBuffer* request,
                          ByteBuffer* response) override {
    return Order(Call::kAdminDeleteJob, context, request, response, DeleteJobHandling());
  }
  UnaryReactor* StartRun(CallContext* context, const ByteBuffer* request,
                         ByteBuffer* response) override {
    return Order(Call::kAdminStartRun, context, request, response, StartRunHandling());
  }
  UnaryReactor* CancelRun(CallContext* context, const ByteBuffer* request,
                          ByteBuffer* response) override {
    return Order(Call::kAdminCancelRun, context, request, response, CancelRunHandling());
  }
  UnaryReactor* ForgetNode(CallContext* context, const ByteBuffer* request,
                           ByteBuffer* response) override {
    return Order(Call::kAdminForgetNode, context, request, response, ForgetNodeHandling());
  }

  UnaryReactor* ListJobs(CallContext* context, const ByteBuffer* request,
                         ByteBuffer* response) override {
    return Read(Call::kAdminListJobs, context, request, response, &AdminReads::ListJobs);
  }
  UnaryReactor* GetJob(CallContext* context, const ByteBuffer* request,
                       ByteBuffer* response) override {
    return Read(Call::kAdminGetJob, context, request, response, &AdminReads::GetJob);
  }
  UnaryReactor* ListRuns(CallContext* context, const ByteBuffer* request,
                         ByteBuffer* response) override {
    return Read(Call::kAdminListRuns, context, request, response, &AdminReads::ListRuns);
  }
  UnaryReactor* GetRun(CallContext* context, const ByteBuffer* request,
                       ByteBuffer* response) override {
    return Read(Call::kAdminGetRun, context, request, response, &AdminReads::GetRun);
  }
  UnaryReactor* ListNodes(CallContext* context, const ByteBuffer* request,
                          ByteBuffer* response) override {
    return Read(Call::kAdminListNodes, context, request, response, &AdminReads::ListNodes);
  }

 private:
  UnaryReactor* Order(Call call, CallContext* context, const ByteBuffer* request,
                      ByteBuffer* response, Command::Handling handling) {
    return Command::Serve(gate_, call, parser_, context, request, response, std::move(handling));
  }
  UnaryReactor* Read(Call call, CallContext* context, const ByteBuffer* request,
                     ByteBuffer* response, Reply (AdminReads::*read)(const ByteBuffer&)) {
    return Query::Serve(
        gate_, call, reader_, context, request, response,
        [reads = reads_, read](const ByteBuffer& bytes) { return (reads->*read)(bytes); });
  }

  const Gate* const gate_;
  control::TaskThread* const parser_;
  control::TaskThread* const reader_;
  AdminReads* const reads_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const Gate* gate, control::TaskThread* parser,
                                                control::TaskThread* reader, AdminReads* reads) {
  return std::make_unique<AdminService>(gate, parser, reader, reads);
}

}  // namespace assay::rpc::admin
