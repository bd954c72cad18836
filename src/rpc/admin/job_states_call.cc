#include "rpc/admin/job_states_call.h"

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "base/ids.h"
#include "rpc/refuse.h"

namespace assay::rpc::admin {

grpc::ServerUnaryReactor* JobStatesCall::Serve(const Gate* gate, control::TaskThread* parser,
                                               CallContext* context,
                                               const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  base::Result<Pass> pass =
      gate->Enter(Call::kAdminSetJobStates, context->peer(), request->Length());
  if (!pass.ok()) return RefuseCall(pass.status());
  auto* call = new JobStatesCall(gate->intake(), std::move(*pass), *request, response);
  parser->Post([call] { call->TranslateAndPost(); });
  return call;
}

void JobStatesCall::TranslateAndPost() {
  assay::admin::SetJobStatesRequest wanted;
  if (base::Status status = ParseBytes(request(), &wanted); !status.ok()) {
    return Finish(ReplyWith(status));
  }
  if (wanted.changes_size() > kChangesMax) {
    return Finish(ReplyWith(
        base::InvalidError("the request has " + std::to_string(wanted.changes_size()) +
                           " changes; at most " + std::to_string(kChangesMax) + " per call")));
  }
  changes_.reserve(static_cast<std::size_t>(wanted.changes_size()));
  for (int i = 0; i < wanted.changes_size(); ++i) {
    assay::admin::SetJobStateRequest& one = *wanted.mutable_changes(i);
    const auto state = core::JobStateFromName(one.state());
    if (const auto problem = base::IdProblem("job", one.id())) {
      Fail(i, *problem);
    } else if (!state.has_value()) {
      Fail(i, base::UnknownState(one.state()));
    } else {
      changes_.emplace_back(
          this, i,
          core::JobStateSet{intake_->NextId(), caller(), std::move(*one.mutable_id()), *state});
    }
  }
  if (changes_.empty()) return Finish(ReplyWith(answer_));
  open_ = changes_.size();
  // Once the last change is posted, this object may be deleted.
  Change* change = changes_.data();
  for (std::size_t left = changes_.size(); left != 0; --left) (change++)->Post();
}

void JobStatesCall::Fail(int index, std::string text) {
  assay::admin::StateFailure* const failure = answer_.add_failures();
  failure->set_index(index);
  failure->set_text(std::move(text));
}

void JobStatesCall::OnAnswer(int index, const core::Answer& answer) {
  if (answer.verdict != core::Verdict::kAccepted) {
    Fail(index, answer.text);
  } else if (answer.changed) {
    answer_.set_set(answer_.set() + 1);
  } else {
    answer_.set_unchanged(answer_.unchanged() + 1);
  }
  OnOne();
}

// The commit failed or the coordinator is stopping. The whole call fails then; its response does
// not report which changes took effect.
void JobStatesCall::OnFailure(const base::Status& status) {
  failure_ = status;
  OnOne();
}

void JobStatesCall::OnOne() {
  if (--open_ != 0) return;
  Finish(failure_.ok() ? ReplyWith(answer_) : ReplyWith(failure_));
}

}  // namespace assay::rpc::admin
