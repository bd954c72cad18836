// Admin/SetJobStates: one call that is many events, each with its own answer. The control loop sees
// single changes, as many in a batch as it likes, so a caller with thousands delays nobody.
//
// Order: the events are posted by one thread, in the request's order, and the mailbox keeps it. The
// call ends when the last was answered.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "admin.pb.h"
#include "rpc/unary_call.h"

namespace assay {

class JobStatesCall final : public UnaryCall {
 public:
  static constexpr int kChangesMax = 1000;

  static grpc::ServerUnaryReactor* Serve(Intake* intake, Worker* parser, CallContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);

 private:
  // One change on its way through the loop.
  class Change final : public PendingCall {
   public:
    Change(JobStatesCall* call, int index, JobStateSet event)
        : call_(call), index_(index), event_(std::move(event)) {}
    // This may be gone when it returns.
    void Post() {
      const CallId id = event_.call;
      call_->intake_->PostCall(id, this, std::move(event_));
    }

   private:
    void Answered(Answer&& answer) override { call_->OnAnswer(index_, answer); }
    void Failed(const Status& status) override { call_->OnFailure(status); }

    JobStatesCall* const call_;
    const int index_;
    JobStateSet event_;
  };

  using UnaryCall::UnaryCall;
  ~JobStatesCall() override = default;

  void TranslateAndPost();
  void Fail(int index, std::string text);
  // The control loop's.
  void OnAnswer(int index, const Answer& answer);
  void OnFailure(const Status& status);
  void OnOne();

  // Written before the first change is posted, then the loop's alone.
  std::vector<Change> changes_;
  std::size_t open_ = 0;
  Status failure_;
  admin::SetJobStatesResponse answer_;
};

}  // namespace assay
