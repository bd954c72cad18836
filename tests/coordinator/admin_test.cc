// The operators' service, over loopback.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/coordinator/harness.h"

namespace assay::coordinator {
namespace {

admin::Job GetJob(Client* client, const std::string& id, grpc::Status* status = nullptr) {
  admin::GetJobRequest request;
  request.set_id(id);
  admin::Job job;
  const grpc::Status got = client->admin->GetJob(Client::Context().get(), request, &job);
  if (status != nullptr) *status = got;
  return job;
}

grpc::Status SetState(Client* client, const std::string& id, const std::string& state) {
  admin::SetJobStateRequest request;
  request.set_id(id);
  request.set_state(state);
  admin::SetJobStateResponse response;
  return client->admin->SetJobState(Client::Context().get(), request, &response);
}

grpc::Status Delete(Client* client, const std::string& id) {
  admin::DeleteJobRequest request;
  request.set_id(id);
  admin::DeleteJobResponse response;
  return client->admin->DeleteJob(Client::Context().get(), request, &response);
}

TEST_CASE("a job is applied, changed, listed and deleted") {
  Bed bed;
  Client client(bed);
  admin::ApplyJobResponse applied;
  REQUIRE(client.Apply("job-1", Table(2, 4), &applied).ok());
  CHECK(applied.changed());
  CHECK(applied.job().id() == "job-1");
  CHECK(applied.job().state() == "running");
  CHECK(applied.job().rank_count() == 8);
  CHECK(applied.job().node_count() == 2);
  CHECK(applied.job().ranks_size() == 0);
  applied.Clear();
  REQUIRE(client.Apply("job-1", Table(2, 4), &applied).ok());
  CHECK_FALSE(applied.changed());

  REQUIRE(SetState(&client, "job-1", "complete").ok());
  const admin::Job job = GetJob(&client, "job-1");
  CHECK(job.state() == "complete");
  REQUIRE(job.ranks_size() == 8);
  CHECK(job.ranks(5).rank() == 5);
  CHECK(job.ranks(5).node() == "node-1");
  CHECK(job.ranks(5).device() == 1);

  REQUIRE(client.Apply("job-2", Table(1, 1)).ok());
  admin::ListJobsRequest list;
  list.set_limit(1);
  admin::ListJobsResponse jobs;
  REQUIRE(client.admin->ListJobs(Client::Context().get(), list, &jobs).ok());
  REQUIRE(jobs.jobs_size() == 1);
  CHECK(jobs.more());
  list.set_after(jobs.jobs(0).id());
  jobs.Clear();
  REQUIRE(client.admin->ListJobs(Client::Context().get(), list, &jobs).ok());
  REQUIRE(jobs.jobs_size() == 1);
  CHECK_FALSE(jobs.more());
  CHECK(jobs.jobs(0).id() == "job-2");

  REQUIRE(Delete(&client, "job-1").ok());
  grpc::Status gone;
  GetJob(&client, "job-1", &gone);
  CHECK(gone.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(Delete(&client, "job-1").error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(SetState(&client, "job-1", "running").error_code() == grpc::StatusCode::NOT_FOUND);
}

void AddChange(admin::SetJobStatesRequest* request, const std::string& id,
               const std::string& state) {
  admin::SetJobStateRequest* const change = request->add_changes();
  change->set_id(id);
  change->set_state(state);
}

TEST_CASE("one call sets many states in order, each accepted or refused by itself") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("a", Table(1, 1)).ok());  // running
  REQUIRE(client.Apply("b", Table(1, 1)).ok());
  admin::SetJobStatesRequest request;
  AddChange(&request, "a", "running");
  AddChange(&request, "a", "failed");
  AddChange(&request, "none", "failed");
  AddChange(&request, "b", "broken");
  AddChange(&request, "", "failed");
  AddChange(&request, "b", "complete");
  AddChange(&request, "a", "pending");
  admin::SetJobStatesResponse response;
  REQUIRE(client.admin->SetJobStates(Client::Context().get(), request, &response).ok());
  CHECK(response.set() == 3);
  CHECK(response.unchanged() == 1);
  std::map<int, std::string> failures;
  for (const auto& failure : response.failures()) failures[failure.index()] = failure.text();
  REQUIRE(failures.size() == 3);
  CHECK(failures[2].find("job \"none\" does not exist") == 0);
  CHECK(failures[3].find("broken") != std::string::npos);
  CHECK(failures[4].find("empty") != std::string::npos);
  CHECK(GetJob(&client, "a").state() == "pending");
  CHECK(GetJob(&client, "b").state() == "complete");

  request.clear_changes();
  response.Clear();
  REQUIRE(client.admin->SetJobStates(Client::Context().get(), request, &response).ok());
  CHECK(response.set() == 0);
  for (int i = 0; i <= 1000; ++i) AddChange(&request, "a", "failed");
  CHECK(client.admin->SetJobStates(Client::Context().get(), request, &response).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(GetJob(&client, "a").state() == "pending");
}

TEST_CASE("an initializing table makes a pending job; an incomplete one is refused as not ready") {
  Bed bed;
  Client client(bed);
  admin::ApplyJobResponse applied;
  REQUIRE(client.Apply("job-1", R"({"status":"initializing"})", &applied).ok());
  CHECK(applied.job().state() == "pending");
  CHECK(applied.job().rank_count() == 0);

  const std::string whole = Table(1, 2);
  for (const std::string& early : {std::string(), std::string(" \n"), whole.substr(0, 40)}) {
    const grpc::Status status = client.Apply("job-2", early);
    CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
    CHECK(status.error_message().find("not ready, try again") == 0);
    CHECK(status.error_message().find("table.json") != std::string::npos);
  }
  grpc::Status gone;
  GetJob(&client, "job-2", &gone);
  CHECK(gone.error_code() == grpc::StatusCode::NOT_FOUND);

  REQUIRE(client.Apply("job-1", whole, &applied).ok());
  CHECK(applied.job().rank_count() == 2);
}

TEST_CASE("an invalid table is refused with its file and line") {
  Bed bed;
  Client client(bed);
  const grpc::Status status = client.Apply("job-1", R"({"status":"completed","server_list":7})");
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message().find("table.json") != std::string::npos);
  CHECK(status.error_message().find("server_list") != std::string::npos);
}

TEST_CASE("65,536 ranks are applied and read back") {
  Bed bed;
  Client client(bed);
  std::string servers;
  int rank = 0;
  for (int n = 0; n < 4096; ++n) {
    servers += std::string(n == 0 ? "" : ",") + R"({"server_id":"node-)" + std::to_string(n) +
               R"(","device":[)";
    for (int d = 0; d < 16; ++d, ++rank) {
      servers += std::string(d == 0 ? "" : ",") + R"({"device_id":")" + std::to_string(d) +
                 R"(","device_ip":"10.)" + std::to_string(n / 256) + "." + std::to_string(n % 256) +
                 "." + std::to_string(d + 1) + R"(","rank_id":")" + std::to_string(rank) + R"("})";
    }
    servers += "]}";
  }
  const std::string table = R"({"status":"completed","version":"1.0","server_count":"4096",)"
                            R"("server_list":[)" +
                            servers + "]}";
  admin::ApplyJobResponse applied;
  const grpc::Status status = client.Apply("large", table, &applied);
  INFO(status.error_message());
  REQUIRE(status.ok());
  CHECK(applied.job().rank_count() == 65'536);
  const admin::Job job = GetJob(&client, "large");
  REQUIRE(job.ranks_size() == 65'536);
  CHECK(job.ranks(65'535).node() == "node-4095");

  // A run of all ranks: its plan and its notification.
  Notified notified(&client, "large");
  admin::StartRunRequest start;
  start.set_job("large");
  admin::StartRunResponse started;
  REQUIRE(client.admin->StartRun(Client::Context().get(), start, &started).ok());
  CHECK(started.executor() == "subscriber");
  CHECK(started.plan_size() == 4096);
  StressTestRankParams params;
  REQUIRE(notified.Next(&params));
  CHECK(params.stressparam_size() == 65'536);
  Result result(&client, "large");
  REQUIRE(client.Reply("large", params, "0", "OK").code() == 0);
  const Result::Got got = result.Wait();
  CHECK(got.status.ok());
  CHECK(got.msg.size() < (4U << 20));
  CHECK(got.msg.find("stress test finish") == 0);

  // The run's results come in pages of whole ranks.
  admin::GetRunRequest request;
  request.set_run(started.run());
  request.set_results(true);
  request.set_limit(10'000);
  int results = 0;
  int pages = 0;
  while (request.from_rank() >= 0) {
    admin::GetRunResponse page;
    REQUIRE(client.admin->GetRun(Client::Context().get(), request, &page).ok());
    REQUIRE(page.results_size() % 2 == 0);
    REQUIRE(page.results(0).rank() == request.from_rank());
    results += page.results_size();
    request.set_from_rank(page.next_rank());
    ++pages;
  }
  CHECK(results == 131'072);
  CHECK(pages > 1);
}

TEST_CASE("the operator checks, starts, shows and cancels a run") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(2, 2)).ok());
  admin::StartRunRequest start;
  start.set_job("job-1");
  start.add_ops("aic");
  start.add_nodes("node-1");
  admin::StartRunResponse started;
  grpc::Status status = client.admin->StartRun(Client::Context().get(), start, &started);
  CHECK(status.error_code() != grpc::StatusCode::OK);
  CHECK(status.error_message().find("404 ") == 0);

  Notified notified(&client, "job-1");
  start.set_check(true);
  status = client.admin->StartRun(Client::Context().get(), start, &started);
  INFO(status.error_message());
  REQUIRE(status.ok());
  CHECK(started.run() == 0);
  REQUIRE(started.plan_size() == 1);
  CHECK(started.plan(0).node() == "node-1");
  CHECK(started.plan(0).executor() == "subscriber");
  CHECK(started.plan(0).ranks_size() == 2);

  start.set_check(false);
  started.Clear();
  REQUIRE(client.admin->StartRun(Client::Context().get(), start, &started).ok());
  CHECK(started.run() == 1);
  REQUIRE(started.ops_size() == 1);
  CHECK(started.ops(0) == "aic");
  StressTestRankParams params;
  REQUIRE(notified.Next(&params));

  admin::GetRunRequest get;
  get.set_run(1);
  get.set_results(true);
  admin::GetRunResponse run;
  REQUIRE(client.admin->GetRun(Client::Context().get(), get, &run).ok());
  CHECK(run.run().state() == "testing");
  CHECK(run.run().expected() == 2);
  CHECK(run.run().answered() == 0);
  REQUIRE(run.results_size() == 2);
  CHECK(run.results(0).code() == -1);
  CHECK(run.next_rank() == -1);

  admin::CancelRunRequest cancel;
  cancel.set_run(1);
  admin::CancelRunResponse cancelled;
  REQUIRE(client.admin->CancelRun(Client::Context().get(), cancel, &cancelled).ok());
  CHECK(cancelled.state() == "cancelling");
  // A subscriber's work cannot be cancelled: its reply counts.
  REQUIRE(client.Reply("job-1", params, "0", "OK").code() == 0);
  run.Clear();
  REQUIRE(client.admin->GetRun(Client::Context().get(), get, &run).ok());
  CHECK(run.run().state() == "closed");
  CHECK(run.run().by_code(0) == 2);
  CHECK(run.run().message().find("stress test cancelled,result:") == 0);
  CHECK(run.results(1).outcome() == "ok");

  cancel.set_run(99);
  CHECK(client.admin->CancelRun(Client::Context().get(), cancel, &cancelled).error_code() ==
        grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("the job of a run cannot be deleted or get another table") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  Notified notified(&client, "job-1");
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  for (const grpc::Status& status :
       {Delete(&client, "job-1"), client.Apply("job-1", Table(1, 1))}) {
    CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    CHECK(status.error_message().find("411 ") == 0);
  }
}

TEST_CASE("wrong input of an operator is refused with an error that names it") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  const auto refused = [](const grpc::Status& status, const std::string& what) {
    INFO(status.error_message());
    CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK(status.error_message().find(what) != std::string::npos);
    CHECK(status.error_message().size() <= 1024);
  };
  refused(client.Apply("", Table(1, 1)), "job");
  refused(client.Apply(std::string(100'000, 'x'), Table(1, 1)), "job");
  refused(client.Apply("a\x01", Table(1, 1)), "job");
  refused(SetState(&client, "job-1", "sleeping"), "\"sleeping\"");

  admin::ApplyJobRequest apply;
  apply.set_id("job-1");
  apply.set_rank_table(Table(1, 1));
  apply.set_framework("py\ntorch");
  admin::ApplyJobResponse applied;
  refused(client.admin->ApplyJob(Client::Context().get(), apply, &applied), "framework");
  apply.set_framework(std::string(5000, 'f'));
  refused(client.admin->ApplyJob(Client::Context().get(), apply, &applied), "framework");

  admin::StartRunRequest start;
  start.set_job("job-1");
  start.add_ops("stress");
  admin::StartRunResponse started;
  refused(client.admin->StartRun(Client::Context().get(), start, &started), "\"stress\"");
  start.clear_ops();
  start.set_executor("robot");
  refused(client.admin->StartRun(Client::Context().get(), start, &started), "\"robot\"");

  admin::GetRunRequest run;
  run.set_run(77);
  admin::GetRunResponse got;
  CHECK(client.admin->GetRun(Client::Context().get(), run, &got).error_code() ==
        grpc::StatusCode::NOT_FOUND);
  admin::ForgetNodeRequest forget;
  forget.set_name("nowhere");
  admin::ForgetNodeResponse forgotten;
  CHECK(client.admin->ForgetNode(Client::Context().get(), forget, &forgotten).error_code() ==
        grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace assay::coordinator
