// A whole stress test with a training agent as executor, over real gRPC.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/coordinator/harness.h"

namespace assay::coordinator {
namespace {

std::int64_t Run(Client* client, const std::string& job, const std::string& code,
                 const std::string& text) {
  Notified notified(client, job);
  REQUIRE(client->StressWhenReady(job, {{"node-0", {0, 1}}}).code() == 0);
  StressTestRankParams params;
  REQUIRE(notified.Next(&params));
  REQUIRE(client->Reply(job, params, code, text).code() == 0);
  admin::ListRunsRequest request;
  request.set_job(job);
  admin::ListRunsResponse runs;
  REQUIRE(client->admin->ListRuns(Client::Context().get(), request, &runs).ok());
  REQUIRE(runs.runs_size() > 0);
  return runs.runs(0).id();
}

TEST_CASE("a platform starts a test, a training agent executes it, the platform gets the result") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(2, 2)).ok());

  Notified notified(&client, "job-1");
  const ::Status accepted = client.StressWhenReady("job-1", {{"node-1", {0, 1}}});
  CHECK(accepted.code() == 0);
  CHECK(accepted.info() == "stress test operation was successfully distributed");
  Result result(&client, "job-1");

  StressTestRankParams params;
  REQUIRE(notified.Next(&params));
  CHECK(params.jobid() == "job-1");
  REQUIRE(params.stressparam_size() == 2);
  for (const char* rank : {"2", "3"}) {
    REQUIRE(params.stressparam().count(rank) == 1);
    REQUIRE(params.stressparam().at(rank).ops_size() == 2);
    CHECK(params.stressparam().at(rank).ops(0) == 0);
    CHECK(params.stressparam().at(rank).ops(1) == 1);
  }

  // A second test of the job is refused meanwhile.
  ::Status refused;
  REQUIRE(client.Stress("job-1", {{"node-0", {0}}}, &refused).ok());
  CHECK(refused.code() == 411);

  const ::Status replied = client.Reply("job-1", params, "0", "OK");
  CHECK(replied.code() == 0);
  CHECK(replied.info() == "reply success");
  // TaskD repeats replies, each from a new connection.
  CHECK(Client(bed).Reply("job-1", params, "0", "OK").code() == 0);

  const Result::Got got = result.Wait();
  CHECK(got.status.ok());
  CHECK(got.messages == 1);
  const std::string ok =
      R"({"rankResult":{"0":{"code":"0","result":"OK"},"1":{"code":"0","result":"OK"}}})";
  CHECK(got.msg == R"(stress test finish, result:{"node-1":{"0":)" + ok + R"(,"1":)" + ok + "}}");
  CHECK(got.run == "1");

  // A late subscriber gets the same result.
  const Result::Got late = Result(&client, "job-1").Wait();
  CHECK(late.status.ok());
  CHECK(late.messages == 1);
  CHECK(late.msg == got.msg);
  CHECK(late.run == "1");

  // So does one after a restart.
  bed.Restart();
  Client again(bed);
  CHECK(Result(&again, "job-1").Wait().msg == got.msg);
}

TEST_CASE("every subscriber is notified once, and every platform gets the result once") {
  constexpr int kEach = 64;
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 8)).ok());
  std::vector<std::unique_ptr<Notified>> notified;
  for (int i = 0; i < kEach; ++i) notified.push_back(std::make_unique<Notified>(&client, "job-1"));
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  std::vector<std::unique_ptr<Result>> results;
  for (int i = 0; i < kEach; ++i) results.push_back(std::make_unique<Result>(&client, "job-1"));
  StressTestRankParams params;
  for (const auto& one : notified) {
    params.Clear();
    REQUIRE(one->Next(&params));
    CHECK(params.stressparam_size() == 8);
  }
  REQUIRE(client.Reply("job-1", params, "0", "OK").code() == 0);
  std::string first;
  for (const auto& one : results) {
    const Result::Got got = one->Wait();
    CHECK(got.status.ok());
    CHECK(got.messages == 1);
    if (first.empty()) first = got.msg;
    CHECK(got.msg == first);
  }
  CHECK(first.find("stress test finish") == 0);
}

TEST_CASE("a faulty rank is named to the platform") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  Run(&client, "job-1", "2", "find fault rank");
  const Result::Got got = Result(&client, "job-1").Wait();
  CHECK(got.msg.find("stress test find fault, isolate node:map[node-0:{}],result:{") == 0);
}

TEST_CASE("cancelled streams are removed") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  for (int round = 0; round < 20; ++round) {
    Notified notified(&client, "job-1");
    Result result(&client, "job-1");
    notified.Cancel();
    CHECK(notified.Finish().error_code() == grpc::StatusCode::CANCELLED);
    result.Cancel();
  }
  // A check only, because a real run would notify a stream whose cancel has not arrived yet.
  admin::StartRunRequest plan;
  plan.set_job("job-1");
  plan.set_check(true);
  grpc::Status status;
  CHECK(Eventually([&] {
    admin::StartRunResponse response;
    status = client.admin->StartRun(Client::Context().get(), plan, &response);
    return !status.ok();
  }));
  CHECK(status.error_message().find("404 ") == 0);
  CHECK(status.error_message().find("node-0") != std::string::npos);
  // The next subscriber is served.
  CHECK(Run(&client, "job-1", "0", "OK") == 1);
}

TEST_CASE("hundreds of streams open and close during runs") {
  constexpr int kThreads = 3;
  constexpr int kStreams = 100;
  constexpr int kRuns = 20;
  Bed bed;
  Client main_client(bed);
  REQUIRE(main_client.Apply("job-1", Table(1, 2)).ok());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&bed, &wrong, t] {
      Client client(bed);
      for (int i = 0; i < kStreams; ++i) {
        if ((i + t) % 2 == 0) {
          Notified notified(&client, "job-1");
          if (i % 4 == 0) notified.Cancel();
        } else {
          Result result(&client, "job-1");
          if (i % 3 == 0) result.Cancel();
          const Result::Got got = result.Wait();
          // Only possible: the result, the cancel, or no test so far.
          const grpc::StatusCode code = got.status.error_code();
          const bool right = code == grpc::StatusCode::OK ? got.messages == 1
                                                          : code == grpc::StatusCode::CANCELLED ||
                                                                code == grpc::StatusCode::NOT_FOUND;
          if (!right) ++wrong;
        }
      }
    });
  }
  for (int run = 1; run <= kRuns; ++run) CHECK(Run(&main_client, "job-1", "0", "OK") == run);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(Result(&main_client, "job-1").Wait().run == std::to_string(kRuns));
  CHECK(bed.coordinator().Stop().ok());
}

TEST_CASE("a platform that subscribes after several runs gets the newest result") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  CHECK(Run(&client, "job-1", "0", "OK") == 1);
  CHECK(Run(&client, "job-1", "1", "not now") == 2);
  const Result::Got got = Result(&client, "job-1").Wait();
  CHECK(got.run == "2");
  CHECK(got.msg.find("stress test finish, not run on rank:[0],result:{") == 0);
}

TEST_CASE("wrong requests of a platform get the interface's codes") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  ::Status answer;
  const auto code = [&](const std::string& job,
                        const std::map<std::string, std::vector<int>>& nodes) {
    answer.Clear();
    REQUIRE(client.Stress(job, nodes, &answer).ok());
    CHECK(answer.info().size() < 1024);
    return answer.code();
  };
  CHECK(code("nobody", {{"node-0", {0}}}) == 413);
  CHECK(answer.info() == "job:nobody not exist");
  CHECK(code("job-1", {}) == 413);
  CHECK(answer.info() == "stress test node is nil");
  CHECK(code("job-1", {{"node-0", {}}}) == 413);
  CHECK(code("job-1", {{"node-0", {7}}}) == 413);
  CHECK(answer.info() == "op:7 not exist in support operation:[0 1]");
  CHECK(code("job-1", {{"node-0", {0, 0}}}) == 413);
  CHECK(answer.info() == "node:node-0 stress test ops should not repeat");
  CHECK(code("job-1", {{"node-9", {0}}}) == 413);
  CHECK(answer.info() == "node:node-9 not exist in job:job-1");
  CHECK(code("job-1", {{"node-0", {0}}}) == 404);
  CHECK(code("", {{"node-0", {0}}}) == 413);
  CHECK(code(std::string(10'000, 'j'), {{"node-0", {0}}}) == 413);
  CHECK(code("job\n1", {{"node-0", {0}}}) == 413);
  CHECK(code("job-1", {{std::string(100'000, 'n'), {0}}}) == 413);

  const Result::Got nothing = Result(&client, "nobody").Wait();
  CHECK(nothing.messages == 0);
  CHECK(nothing.status.error_code() == grpc::StatusCode::NOT_FOUND);
  Notified unknown(&client, "nobody");
  CHECK(unknown.Finish().error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("the calls of process recovery answer UNIMPLEMENTED") {
  Bed bed;
  Client client(bed);
  ClientInfo info;
  info.set_jobid("job-1");
  ::Status answer;
  CHECK(client.recover->Init(Client::Context().get(), info, &answer).error_code() ==
        grpc::StatusCode::UNIMPLEMENTED);
  CHECK(client.recover->HealthCheck(Client::Context().get(), info, &answer).error_code() ==
        grpc::StatusCode::UNIMPLEMENTED);
  const auto context = Client::Context();
  const auto reader = client.recover->SubscribeProcessManageSignal(context.get(), info);
  ProcessManageSignal signal;
  CHECK_FALSE(reader->Read(&signal));
  const grpc::Status status = reader->Finish();
  CHECK(status.error_code() == grpc::StatusCode::UNIMPLEMENTED);
  CHECK_FALSE(status.error_message().empty());
}

TEST_CASE("a call that is not implemented names its method and takes no place") {
  Bed bed([](CoordinatorOptions* options) {
    options->limits.streams_max = 1;
    options->limits.calls_max = 1;
  });
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  ClientInfo info;
  info.set_jobid("job-1");
  for (int i = 0; i < 100; ++i) {
    ::Status answer;
    CHECK(client.recover->Init(Client::Context().get(), info, &answer).error_message() ==
          "this version of Assay does not implement Recover/Init");
    const auto context = Client::Context();
    const auto reader = client.recover->SubscribeProcessManageSignal(context.get(), info);
    ProcessManageSignal signal;
    CHECK_FALSE(reader->Read(&signal));
    const grpc::Status status = reader->Finish();
    CHECK(status.error_code() == grpc::StatusCode::UNIMPLEMENTED);
    CHECK(status.error_message() ==
          "this version of Assay does not implement Recover/SubscribeProcessManageSignal");
  }
  Notified notified(&client, "job-1");
  CHECK(client.SetState("job-1", "running").ok());
}

}  // namespace
}  // namespace assay::coordinator
