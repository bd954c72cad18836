// Start, stop, health, and a store that fails.
#include <grpcpp/generic/generic_stub.h>
#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/coordinator/harness.h"

namespace assay::coordinator {
namespace {

std::string FirstLine(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool Exists(const std::string& file) {
  struct stat ignored {};
  return stat(file.c_str(), &ignored) == 0;
}

// A unary call by its path, with raw request and response bytes.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                     const std::string& request, std::string* response) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto context = Client::Context();
  const grpc::Slice slice(request);
  const grpc::ByteBuffer bytes(&slice, 1);
  const auto call = stub.PrepareUnaryCall(context.get(), path, bytes, &queue);
  call->StartCall();
  grpc::ByteBuffer got;
  grpc::Status status;
  call->Finish(&got, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (status.ok() && got.Dump(&slices).ok()) {
    for (const grpc::Slice& one : slices) {
      response->append(reinterpret_cast<const char*>(one.begin()), one.size());
    }
  }
  return status;
}

// grpc.health.v1.HealthCheckResponse{status: field 1}: 1 SERVING, 2 NOT_SERVING.
int Health(Client* client) {
  std::string response;
  const grpc::Status status =
      CallRaw(client->channel, "/grpc.health.v1.Health/Check", "", &response);
  REQUIRE(status.ok());
  REQUIRE(response.size() == 2);
  return response[1];
}

TEST_CASE("the coordinator listens at its address and is healthy") {
  Bed bed;
  CHECK(FirstLine(bed.dir() / "port") == bed.address());
  Client client(bed);
  CHECK(Health(&client) == 1);
  REQUIRE(bed.coordinator().Stop().ok());
  CHECK_FALSE(Exists(bed.dir() / "port"));
  CHECK(bed.coordinator().Stop().ok());  // a second Stop
}

TEST_CASE("reflection answers") {
  Bed bed;
  Client client(bed);
  // Sends ServerReflectionRequest{list_services (7): ""} on a stream and reads one message.
  grpc::GenericStub stub(client.channel);
  grpc::CompletionQueue queue;
  const auto context = Client::Context();
  const auto call = stub.PrepareCall(
      context.get(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  REQUIRE(ok);
  const grpc::Slice slice(std::string("\x3a\x00", 2));
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  queue.Next(&tag, &ok);
  REQUIRE(ok);
  grpc::ByteBuffer got;
  call->Read(&got, nullptr);
  queue.Next(&tag, &ok);
  REQUIRE(ok);
  grpc::Slice all;
  REQUIRE(got.DumpToSingleSlice(&all).ok());
  const std::string text(reinterpret_cast<const char*>(all.begin()), all.size());
  for (const char* service : {"Recover", "job.Job", "assay.admin.Admin", "assay.fleet.Fleet"}) {
    CHECK(text.find(service) != std::string::npos);
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
}

TEST_CASE("a second coordinator on the same port or database fails with an error that names it") {
  Bed bed;
  support::TempDir other;
  CoordinatorOptions options = QuickOptions(other);
  options.listen = bed.address();
  auto second = Coordinator::Start(options);
  REQUIRE_FALSE(second.ok());
  CHECK(second.status().code() == base::Code::kConflict);
  CHECK(second.status().text().find("cannot listen on " + bed.address() +
                                    ": Address already in use") == 0);
  CHECK_FALSE(Exists(other / "port"));

  options = QuickOptions(bed.dir());
  second = Coordinator::Start(options);
  REQUIRE_FALSE(second.ok());
  CHECK(second.status().code() == base::Code::kConflict);
  CHECK(second.status().text().find("assay.db") != std::string::npos);
  CHECK(FirstLine(bed.dir() / "port") == bed.address());
}

TEST_CASE("listening beyond loopback needs --insecure") {
  support::TempDir dir;
  CoordinatorOptions options = QuickOptions(dir);
  options.listen = "0.0.0.0:0";
  const auto refused = Coordinator::Start(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == base::Code::kInvalid);
  CHECK(refused.status().text().find("--insecure") != std::string::npos);
  options.insecure = true;
  CHECK(Coordinator::Start(options).ok());
}

TEST_CASE("a failed start leaves nothing behind") {
  support::TempDir dir;
  for (const auto& change : std::vector<std::function<void(CoordinatorOptions*)>>{
           [](CoordinatorOptions* options) { options->listen = "nonsense"; },
           [](CoordinatorOptions* options) { options->idle_timeout = 19'999; },
           [](CoordinatorOptions* options) { options->idle_timeout = 86'400'001; },
           [](CoordinatorOptions* options) { options->subscriber_buffer = 0; },
           [&](CoordinatorOptions* options) { options->db = dir / "missing/assay.db"; },
           [](CoordinatorOptions* options) {
             options->listen = "no-such-host.invalid:1";
             options->insecure = true;
           },
           [&](CoordinatorOptions* options) { options->port_file = dir / "missing/port"; }}) {
    CoordinatorOptions options = QuickOptions(dir);
    change(&options);
    const auto failed = Coordinator::Start(options);
    REQUIRE_FALSE(failed.ok());
    CHECK_FALSE(failed.status().text().empty());
  }
  CHECK(Coordinator::Start(QuickOptions(dir)).ok());
}

TEST_CASE("stopping ends every stream with UNAVAILABLE") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  Notified notified(&client, "job-1");
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  Result result(&client, "job-1");
  StressTestRankParams params;
  REQUIRE(notified.Next(&params));
  // The answer to a later call shows that the result stream is open.
  CHECK(Health(&client) == 1);
  REQUIRE(bed.coordinator().Stop().ok());
  CHECK(notified.Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  const Result::Got got = result.Wait();
  CHECK(got.messages == 0);
  CHECK(got.status.error_code() == grpc::StatusCode::UNAVAILABLE);
}

TEST_CASE("a run continues after a restart, and its reply counts") {
  Bed bed;
  StressTestRankParams params;
  {
    Client client(bed);
    REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
    Notified notified(&client, "job-1");
    REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
    REQUIRE(notified.Next(&params));
  }
  bed.Restart();
  Client client(bed);
  Result result(&client, "job-1");
  CHECK(client.Reply("job-1", params, "0", "OK").info() == "reply success");
  CHECK(result.Wait().msg.find("stress test finish") == 0);
}

TEST_CASE("a change that cannot be stored is not published; service resumes with the disk") {
  std::atomic<bool> broken{false};
  Bed bed([&](CoordinatorOptions* options) { BreakOnDemand(options, &broken); });
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  auto notified = std::make_unique<Notified>(&client, "job-1");
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  StressTestRankParams params;
  REQUIRE(notified->Next(&params));

  broken = true;
  grpc::Status status = client.Apply("job-2", Table(1, 1));
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message().find("no space left") != std::string::npos);
  CHECK(notified->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(Health(&client) == 2);
  StressTestResult reply;
  reply.set_jobid("job-1");
  ::Status answer;
  CHECK(
      client.recover->ReplyStressTestResult(Client::Context().get(), reply, &answer).error_code() ==
      grpc::StatusCode::UNAVAILABLE);
  CHECK(Result(&client, "job-1").Wait().status.error_code() == grpc::StatusCode::UNAVAILABLE);
  // Queries still work.
  admin::ListJobsResponse jobs;
  REQUIRE(client.admin->ListJobs(Client::Context().get(), admin::ListJobsRequest(), &jobs).ok());
  CHECK(jobs.jobs_size() == 1);

  broken = false;
  CHECK(Eventually([&] { return Health(&client) == 1; }));
  Result result(&client, "job-1");
  CHECK(client.Reply("job-1", params, "0", "OK").info() == "reply success");
  CHECK(result.Wait().msg.find("stress test finish") == 0);
  CHECK(client.Apply("job-2", Table(1, 1)).ok());
}

}  // namespace
}  // namespace assay::coordinator
