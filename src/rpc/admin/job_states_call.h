// Admin/SetJobStates: one call that becomes many events, each with its own answer. The control loop
// handles the changes one by one and splits them over its batches, so a call with many changes does
// not delay other callers.
//
// Order: one thread posts the events in the request's order, and the mailbox preserves it. The call
// ends when the last change was answered.
//
// Thread safety: Serve from gRPC's threads. The parser's thread translates and posts; after that
// the control loop's thread owns the state.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "admin.pb.h"
#include "rpc/unary_call.h"

namespace assay::rpc::admin {

class JobStatesCall final : public UnaryCall {
 public:
  static constexpr int kChangesMax = 1000;

  static grpc::ServerUnaryReactor* Serve(const Gate* gate, control::TaskThread* parser,
                                         CallContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);

 private:
  // One change until the loop has answered it.
  class Change final : public control::PendingCall {
   public:
    Change(JobStatesCall* call, int index, core::JobStateSet event)
        : call_(call), index_(index), event_(std::move(event)) {}
    // The object may be deleted before it returns.
    void Post() {
      const core::CallId id = event_.call;
      call_->intake_->PostCall(id, this, std::move(event_));
    }

   private:
    void Answered(core::Answer&& answer) override { call_->OnAnswer(index_, answer); }
    void Failed(const base::Status& status) override { call_->OnFailure(status); }

    JobStatesCall* const call_;
    const int index_;
    core::JobStateSet event_;
  };

  using UnaryCall::UnaryCall;
  ~JobStatesCall() override = default;

  void TranslateAndPost();
  void Fail(int index, std::string text);
  // Called by the control loop.
  void OnAnswer(int index, const core::Answer& answer);
  void OnFailure(const base::Status& status);
  void OnOne();

  // Written by the parser's thread before the first change is posted, then owned by the loop.
  std::vector<Change> changes_;
  std::size_t open_ = 0;
  base::Status failure_;
  assay::admin::SetJobStatesResponse answer_;
};

}  // namespace assay::rpc::admin
