#include "rpc/admin/commands.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin.pb.h"
#include "base/ids.h"
#include "base/text.h"
#include "control/signal_size.h"
#include "core/job_file.h"
#include "rank_table/rank_table.h"
#include "wire/clusterd_code.h"

namespace assay::rpc::admin {
namespace {

constexpr int kNodesMax = 65'536;

Reply Invalid(std::string text) { return ReplyWith(base::InvalidError(std::move(text))); }

// The status of a refused command; OK if accepted.
base::Status Refusal(const core::Answer& answer) {
  return wire::AdminStatus(answer.verdict, answer.text);
}

// For commands with an empty response.
template <class Response>
void RespondDone(Command* call, core::Answer&& answer) {
  const base::Status refusal = Refusal(answer);
  call->Finish(refusal.ok() ? ReplyWith(Response()) : ReplyWith(refusal));
}

// --- ApplyJob ---

std::string BadSpec(const assay::admin::ApplyJobRequest& request) {
  if (const auto problem = base::IdProblem("job", request.id())) return *problem;
  const std::pair<const char*, const std::string*> words[] = {
      {"name", &request.name()},
      {"namespace", &request.namespace_()},
      {"framework", &request.framework()},
      {"master_addr", &request.master_addr()},
      {"shared_tor_ip", &request.shared_tor_ip()}};
  for (const auto& [field, word] : words) {
    if (const auto problem = base::TextProblem(field, *word)) return *problem;
  }
  if (!request.state().empty() && !core::JobStateFromName(request.state()).has_value()) {
    return base::UnknownState(request.state());
  }
  return "";
}

// The parts of the request that its response needs.
struct Applied {
  std::string id;
  std::vector<std::string> warnings;
};

Command::Translated TranslateApplyJob(Command* call, Applied* applied) {
  assay::admin::ApplyJobRequest request;
  if (base::Status status = ParseBytes(call->request(), &request); !status.ok()) {
    return ReplyWith(status);
  }
  if (std::string bad = BadSpec(request); !bad.empty()) return Invalid(std::move(bad));
  const std::string source = request.source().empty() ? "job " + request.id() : request.source();
  rank_table::TableReading reading = rank_table::ReadRankTable(request.rank_table(), source);
  if (reading.verdict == rank_table::TableVerdict::kReject)
    return Invalid(std::move(reading.error));
  if (core::IsUnfinished(reading, request.rank_table())) {
    return ReplyWith(base::NotReadyError("not ready, try again: " + reading.error));
  }
  applied->id = request.id();
  applied->warnings = reading.table.warnings;
  core::JobApplied event;
  event.call = call->id();
  event.caller = call->caller();
  event.spec = {request.id(),        request.name(),        request.namespace_(),
                request.framework(), request.master_addr(), request.shared_tor_ip()};
  event.state = core::JobStateFromName(request.state());
  SetTable(std::move(reading), std::move(*request.mutable_rank_table()), &event);
  if (std::string warning = control::MissingHcclWarning(event.spec, *event.hccl);
      !warning.empty()) {
    applied->warnings.push_back(std::move(warning));
  }
  return core::Event(std::move(event));
}

}  // namespace

Command::Handling ApplyJobHandling(control::TaskThread* reader, AdminReads* reads) {
  const auto applied = std::make_shared<Applied>();
  Command::Handling handling;
  handling.where = Command::Where::kParser;
  handling.translate = [applied](Command* call) { return TranslateApplyJob(call, applied.get()); };
  handling.respond = [applied, reader, reads](Command* call, core::Answer&& answer) {
    if (base::Status refusal = Refusal(answer); !refusal.ok())
      return call->Finish(ReplyWith(refusal));
    // Read the job as it is stored now, on the thread that may wait for a disk.
    reader->Post([applied, reads, call, changed = answer.changed] {
      assay::admin::ApplyJobResponse response;
      response.set_changed(changed);
      for (const std::string& warning : applied->warnings) response.add_warnings(warning);
      const base::Status status = reads->ReadJob(applied->id, response.mutable_job());
      call->Finish(status.ok() ? ReplyWith(response) : ReplyWith(status));
    });
  };
  return handling;
}

// --- SetJobState, DeleteJob ---

Command::Handling SetJobStateHandling() {
  Command::Handling handling;
  handling.translate = [](Command* call) -> Command::Translated {
    assay::admin::SetJobStateRequest request;
    if (base::Status status = ParseBytes(call->request(), &request); !status.ok()) {
      return ReplyWith(status);
    }
    if (const auto problem = base::IdProblem("job", request.id())) return Invalid(*problem);
    const auto state = core::JobStateFromName(request.state());
    if (!state.has_value()) {
      return Invalid(base::UnknownState(request.state()));
    }
    return core::Event(core::JobStateSet{call->id(), call->caller(), request.id(), *state});
  };
  handling.respond = RespondDone<assay::admin::SetJobStateResponse>;
  return handling;
}

Command::Handling DeleteJobHandling() {
  Command::Handling handling;
  handling.translate = [](Command* call) -> Command::Translated {
    assay::admin::DeleteJobRequest request;
    if (base::Status status = ParseBytes(call->request(), &request); !status.ok()) {
      return ReplyWith(status);
    }
    if (const auto problem = base::IdProblem("job", request.id())) return Invalid(*problem);
    return core::Event(core::JobDeleted{call->id(), call->caller(), request.id()});
  };
  handling.respond = [](Command* call, core::Answer&& answer) {
    if (base::Status refusal = Refusal(answer); !refusal.ok())
      return call->Finish(ReplyWith(refusal));
    assay::admin::DeleteJobResponse response;
    response.set_note(answer.text);
    call->Finish(ReplyWith(response));
  };
  return handling;
}

// --- StartRun, CancelRun ---

namespace {

Command::Translated TranslateStartRun(Command* call) {
  assay::admin::StartRunRequest request;
  if (base::Status status = ParseBytes(call->request(), &request); !status.ok()) {
    return ReplyWith(status);
  }
  if (const auto problem = base::IdProblem("job", request.job())) return Invalid(*problem);
  core::StressRequested event;
  event.call = call->id();
  event.caller = call->caller();
  event.job = request.job();
  event.check = request.check();
  core::OpSet ops;
  for (const std::string& name : request.ops()) {
    const auto op = core::OpFromName(name);
    if (!op.has_value()) return Invalid("op " + base::Quoted(name) + " is unknown; use aic or p2p");
    if (ops.Has(*op)) return Invalid("op " + base::Quoted(name) + " is given twice");
    ops.Add(*op);
  }
  if (ops.empty()) ops = core::OpSet::All();
  std::vector<std::int64_t> list;
  for (const core::Op op : ops) list.push_back(static_cast<std::int64_t>(op));
  if (request.nodes_size() > kNodesMax) {
    return Invalid("the request names " + std::to_string(request.nodes_size()) +
                   " nodes; at most " + std::to_string(kNodesMax));
  }
  for (const std::string& node : request.nodes()) event.node_ops.emplace(node, list);
  if (event.node_ops.empty()) event.all_ops = std::move(list);
  if (!request.executor().empty() && request.executor() != "auto") {
    const auto executor = core::ExecutorFromName(request.executor());
    if (!executor.has_value()) {
      return Invalid("executor " + base::Quoted(request.executor()) +
                     " is unknown; use auto, subscriber or agent");
    }
    event.demand = *executor == core::Executor::kAgent ? core::ExecutorDemand::kAgent
                                                       : core::ExecutorDemand::kSubscriber;
  }
  return core::Event(std::move(event));
}

void RespondStartRun(Command* call, core::Answer&& answer) {
  if (base::Status refusal = Refusal(answer); !refusal.ok())
    return call->Finish(ReplyWith(refusal));
  assay::admin::StartRunResponse response;
  response.set_run(answer.run);
  response.set_executor(std::string(Name(answer.executor)));
  for (const core::Op op : answer.ops) response.add_ops(std::string(Name(op)));
  if (answer.plan != nullptr) {
    for (const core::PlannedPart& part : *answer.plan) {
      assay::admin::PlannedNode* const node = response.add_plan();
      node->set_node(part.node);
      node->set_executor(part.agent.empty() ? std::string(Name(core::Executor::kSubscriber))
                                            : part.agent);
      for (std::int32_t rank : part.ranks) node->add_ranks(rank);
      for (std::int32_t device : part.devices) node->add_devices(device);
    }
  }
  call->Finish(ReplyWith(response));
}

}  // namespace

Command::Handling StartRunHandling() {
  Command::Handling handling;
  handling.translate = TranslateStartRun;
  handling.respond = RespondStartRun;
  return handling;
}

Command::Handling CancelRunHandling() {
  Command::Handling handling;
  handling.translate = [](Command* call) -> Command::Translated {
    assay::admin::CancelRunRequest request;
    if (base::Status status = ParseBytes(call->request(), &request); !status.ok()) {
      return ReplyWith(status);
    }
    return core::Event(core::RunCancelled{call->id(), call->caller(), request.run()});
  };
  handling.respond = [](Command* call, core::Answer&& answer) {
    if (base::Status refusal = Refusal(answer); !refusal.ok())
      return call->Finish(ReplyWith(refusal));
    assay::admin::CancelRunResponse response;
    response.set_state(std::string(Name(answer.run_state)));
    call->Finish(ReplyWith(response));
  };
  return handling;
}

// --- ForgetNode ---

Command::Handling ForgetNodeHandling() {
  Command::Handling handling;
  handling.translate = [](Command* call) -> Command::Translated {
    assay::admin::ForgetNodeRequest request;
    if (base::Status status = ParseBytes(call->request(), &request); !status.ok()) {
      return ReplyWith(status);
    }
    if (const auto problem = base::IdProblem("node", request.name())) return Invalid(*problem);
    return core::Event(core::NodeForgotten{call->id(), call->caller(), request.name()});
  };
  handling.respond = RespondDone<assay::admin::ForgetNodeResponse>;
  return handling;
}

}  // namespace assay::rpc::admin
