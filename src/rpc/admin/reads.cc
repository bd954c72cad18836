#include "rpc/admin/reads.h"

#include <algorithm>
#include <string>
#include <utility>

#include "admin.pb.h"
#include "base/ids.h"

namespace assay::rpc::admin {
namespace {

template <class Names>
void SetOps(core::OpSet ops, Names* names) {
  for (const core::Op op : ops) names->Add(std::string(Name(op)));
}

void Fill(const store::JobRow& row, assay::admin::Job* job) {
  job->set_id(row.spec.id);
  job->set_name(row.spec.name);
  job->set_namespace_(row.spec.name_space);
  job->set_framework(row.spec.framework);
  job->set_state(std::string(Name(row.state)));
  job->set_master_addr(row.spec.master_addr);
  job->set_shared_tor_ip(row.spec.shared_tor_ip);
  job->set_rank_count(row.rank_count);
  job->set_node_count(row.node_count);
  job->set_created_ms(row.created);
  job->set_updated_ms(row.updated);
  job->set_last_run(row.last_run);
  for (const store::RankRow& one : row.ranks) {
    assay::admin::Rank* const rank = job->add_ranks();
    rank->set_rank(one.rank);
    rank->set_node(one.node);
    rank->set_device(one.device);
  }
}

void Fill(const store::RunRow& row, assay::admin::Run* run) {
  run->set_id(row.id);
  run->set_job(row.job);
  run->set_state(std::string(Name(row.state)));
  run->set_executor(std::string(Name(row.executor)));
  SetOps(row.ops, run->mutable_ops());
  run->set_ranks(row.rank_count);
  run->set_expected(row.expected);
  run->set_answered(row.answered);
  for (std::int64_t count : row.by_code) run->add_by_code(count);
  run->set_created_ms(row.created);
  run->set_started_ms(row.started);
  run->set_ended_ms(row.ended);
  run->set_deadline_ms(row.deadline);
  run->set_message(row.message);
}

void Fill(const store::ResultRow& row, assay::admin::Result* result) {
  result->set_rank(row.rank);
  result->set_node(row.node);
  result->set_device(row.device);
  result->set_op(std::string(Name(row.op)));
  result->set_code(-1);
  if (!row.outcome.has_value()) return;
  result->set_code(static_cast<int>(row.outcome->code));
  result->set_outcome(std::string(Name(row.outcome->code)));
  result->set_detail(row.outcome->detail);
  result->set_started_ms(row.outcome->started);
  result->set_finished_ms(row.outcome->finished);
}

void Fill(const store::NodeRow& row, assay::admin::Node* node) {
  node->set_name(row.node.name);
  node->set_state(row.node.attached ? "attached" : "lost");
  node->set_identity(row.node.identity);
  node->set_version(row.node.version);
  node->set_host_name(row.node.host_name);
  node->set_fqdn(row.node.fqdn);
  for (const std::string& address : row.node.addresses) node->add_addresses(address);
  node->set_driver(row.node.driver);
  node->set_since_ms(row.node.since);
  for (const store::NodeDeviceRow& one : row.devices) {
    assay::admin::NodeDevice* const device = node->add_devices();
    device->set_index(one.info.index);
    device->set_kind(one.info.kind);
    device->set_detail(one.info.detail);
    device->set_run(one.run);
  }
}

// Moves the ranks from `first` on to the next page. Pages contain whole ranks only.
void CutBefore(std::int32_t first, assay::admin::GetRunResponse* response) {
  auto* const results = response->mutable_results();
  int kept = results->size();
  while (kept > 0 && results->Get(kept - 1).rank() >= first) --kept;
  results->DeleteSubrange(kept, results->size() - kept);
  response->set_next_rank(first);
}

}  // namespace

base::Result<std::unique_ptr<AdminReads>> AdminReads::Open(const std::string& db) {
  base::Result<std::unique_ptr<store::Queries>> queries = store::Queries::Open(db);
  if (!queries.ok()) return queries.status();
  return std::unique_ptr<AdminReads>(new AdminReads(std::move(*queries)));
}

Reply AdminReads::ListJobs(const grpc::ByteBuffer& bytes) {
  assay::admin::ListJobsRequest request;
  if (base::Status status = ParseBytes(bytes, &request); !status.ok()) return ReplyWith(status);
  const auto page = queries_->ListJobs(request.after(), request.limit());
  if (!page.ok()) return ReplyWith(page.status());
  assay::admin::ListJobsResponse response;
  response.set_more(page->more);
  std::size_t size = 0;
  for (const store::JobRow& row : page->rows) {
    assay::admin::Job* const job = response.add_jobs();
    Fill(row, job);
    size += job->ByteSizeLong();
    if (size <= kPageBytes || response.jobs_size() == 1) continue;
    response.mutable_jobs()->RemoveLast();
    response.set_more(true);
    break;
  }
  return ReplyWith(response);
}

Reply AdminReads::GetJob(const grpc::ByteBuffer& bytes) {
  assay::admin::GetJobRequest request;
  if (base::Status status = ParseBytes(bytes, &request); !status.ok()) return ReplyWith(status);
  if (const auto problem = base::IdProblem("job", request.id())) {
    return ReplyWith(base::InvalidError(*problem));
  }
  const auto row = queries_->GetJob(request.id());
  if (!row.ok()) return ReplyWith(row.status());
  assay::admin::Job job;
  Fill(*row, &job);
  return ReplyWith(job);
}

base::Status AdminReads::ReadJob(const std::string& id, assay::admin::Job* job) {
  auto row = queries_->GetJob(id);
  if (!row.ok()) return row.status();
  row->ranks.clear();
  Fill(*row, job);
  return base::Status::Ok();
}

Reply AdminReads::ListRuns(const grpc::ByteBuffer& bytes) {
  assay::admin::ListRunsRequest request;
  if (base::Status status = ParseBytes(bytes, &request); !status.ok()) return ReplyWith(status);
  const auto page = queries_->ListRuns(request.job(), request.before(), request.limit());
  if (!page.ok()) return ReplyWith(page.status());
  assay::admin::ListRunsResponse response;
  response.set_more(page->more);
  std::size_t size = 0;
  for (const store::RunRow& row : page->rows) {
    assay::admin::Run* const run = response.add_runs();
    Fill(row, run);
    size += run->ByteSizeLong();
    if (size <= kPageBytes || response.runs_size() == 1) continue;
    response.mutable_runs()->RemoveLast();
    response.set_more(true);
    break;
  }
  return ReplyWith(response);
}

Reply AdminReads::GetRun(const grpc::ByteBuffer& bytes) {
  assay::admin::GetRunRequest request;
  if (base::Status status = ParseBytes(bytes, &request); !status.ok()) return ReplyWith(status);
  assay::admin::GetRunResponse response;
  response.set_next_rank(-1);
  if (!request.results()) {
    const auto row = queries_->GetRunOnly(request.run());
    if (!row.ok()) return ReplyWith(row.status());
    Fill(*row, response.mutable_run());
    return ReplyWith(response);
  }
  const auto page = queries_->GetRun(request.run(), request.from_rank(), request.limit());
  if (!page.ok()) return ReplyWith(page.status());
  Fill(page->run, response.mutable_run());
  response.set_next_rank(page->next_rank);
  std::size_t size = 0;
  for (const store::ResultRow& row : page->results) {
    assay::admin::Result* const result = response.add_results();
    Fill(row, result);
    size += result->ByteSizeLong();
    if (size <= kPageBytes || row.rank == response.results(0).rank()) continue;
    CutBefore(row.rank, &response);
    break;
  }
  return ReplyWith(response);
}

Reply AdminReads::ListNodes(const grpc::ByteBuffer& bytes) {
  assay::admin::ListNodesRequest request;
  if (base::Status status = ParseBytes(bytes, &request); !status.ok()) return ReplyWith(status);
  const auto rows = queries_->ListNodes();
  if (!rows.ok()) return ReplyWith(rows.status());
  assay::admin::ListNodesResponse response;
  for (const store::NodeRow& row : *rows) Fill(row, response.add_nodes());
  return ReplyWith(response);
}

}  // namespace assay::rpc::admin
