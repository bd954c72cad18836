// Bad input and bad clients get a clear status, change nothing and leave no memory in use.
#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/coordinator/harness.h"

extern char** environ;

namespace assay::coordinator {
namespace {

grpc::Status CallRaw(Client* client, const std::string& path, const std::string& request) {
  grpc::GenericStub stub(client->channel);
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
  return status;
}

const std::vector<std::string> kPaths = {"/Recover/StressTest",
                                         "/Recover/ReplyStressTestResult",
                                         "/Recover/SubscribeNotifyExecStressTest",
                                         "/Recover/SubscribeStressTestResponse",
                                         "/assay.admin.Admin/ApplyJob",
                                         "/assay.admin.Admin/SetJobState",
                                         "/assay.admin.Admin/DeleteJob",
                                         "/assay.admin.Admin/ListJobs",
                                         "/assay.admin.Admin/GetJob",
                                         "/assay.admin.Admin/StartRun",
                                         "/assay.admin.Admin/ListRuns",
                                         "/assay.admin.Admin/ForgetNode"};

TEST_CASE("every call refuses invalid UTF-8 and invalid messages") {
  Bed bed;
  Client client(bed);
  // Field 1, a text: one byte of invalid UTF-8; a length beyond the end; garbage.
  const std::vector<std::string> bad = {std::string("\x0a\x01\xff", 3),
                                        std::string("\x0a\x7f\x41", 3), std::string(40, '\xff')};
  for (const std::string& path : kPaths) {
    for (const std::string& request : bad) {
      // ListRuns and the like have other fields 1 to 3, but the last two are wrong everywhere.
      const grpc::Status status = CallRaw(&client, path, request);
      INFO(path << ": " << status.error_message());
      CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
      CHECK(status.error_message().find("not a valid") != std::string::npos);
    }
  }
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
}

TEST_CASE("a message above the size limit is refused, one below is not") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  StressTestResult result;
  result.set_jobid("job-1");
  (*(*result.mutable_stressresult())["0"].mutable_rankresult())["0"].set_result(
      std::string(17 << 20, 'x'));
  ::Status answer;
  CHECK(client.recover->ReplyStressTestResult(Client::Context().get(), result, &answer)
            .error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  (*(*result.mutable_stressresult())["0"].mutable_rankresult())["0"].set_result(
      std::string(15 << 20, 'x'));
  CHECK(client.recover->ReplyStressTestResult(Client::Context().get(), result, &answer).ok());

  const auto context = Client::Context();
  const auto reader = client.recover->SubscribeStressTestResponse(context.get(), [] {
    StressTestRequest request;
    request.set_jobid(std::string(1 << 20, 'j'));
    return request;
  }());
  StressTestResponse response;
  CHECK_FALSE(reader->Read(&response));
  CHECK(reader->Finish().error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("a map of 100,000 nodes is refused with a short error") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  StressTestParam param;
  param.set_jobid("job-1");
  for (int i = 0; i < 100'000; ++i) {
    (*param.mutable_stressparam())["node-" + std::to_string(i)].add_ops(0);
  }
  ::Status answer;
  REQUIRE(client.recover->StressTest(Client::Context().get(), param, &answer).ok());
  CHECK(answer.code() == 413);
  CHECK(answer.info().size() < 1024);
}

int Connect(const std::string& address) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  return fd;
}

TEST_CASE("garbage instead of HTTP/2 ends that connection only") {
  Bed bed;
  Client client(bed);
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100'000, '\0'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(1000, '\xff')}) {
    const int fd = Connect(bed.address());
    (void)!send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    char buffer[4096];
    while (recv(fd, buffer, sizeof buffer, 0) > 0) {
    }
    close(fd);
  }
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
}

TEST_CASE("more subscriptions than allowed are refused, until one leaves") {
  Bed bed([](CoordinatorOptions* options) { options->limits.streams_max = 3; });
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  Notified first(&client, "job-1");
  Notified second(&client, "job-1");
  auto third = std::make_unique<Notified>(&client, "job-1");
  Notified fourth(&client, "job-1");
  const grpc::Status status = fourth.Finish();
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(status.error_message().find("limit 3") != std::string::npos);
  third.reset();
  CHECK(Eventually([&] {
    ClientInfo info;
    info.set_jobid("job-1");
    const auto context = Client::Context();
    const auto reader = client.recover->SubscribeNotifyExecStressTest(context.get(), info);
    reader->WaitForInitialMetadata();
    context->TryCancel();
    StressTestRankParams params;
    while (reader->Read(&params)) {
    }
    return reader->Finish().error_code() == grpc::StatusCode::CANCELLED;
  }));
}

// Runs in the process that the next test starts, until that kills it.
TEST_CASE("a subscriber that will be killed", "[.victim]") {
  const char* address = std::getenv("ASSAY_TEST_VICTIM");
  REQUIRE(address != nullptr);
  Client client(address);
  Notified notified(&client, "job-1");
  Result result(&client, "job-1");
  StressTestRankParams params;
  (void)notified.Next(&params);
}

TEST_CASE("a killed subscriber's stream is removed") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  std::vector<std::string> environment = {"ASSAY_TEST_VICTIM=" + bed.address()};
  std::vector<char*> pointers = {environment[0].data()};
  for (char** one = environ; *one != nullptr; ++one) pointers.push_back(*one);
  pointers.push_back(nullptr);
  char name[] = "/proc/self/exe";
  char tag[] = "[.victim]";
  char* arguments[] = {name, tag, nullptr};
  pid_t victim = 0;
  REQUIRE(posix_spawn(&victim, name, nullptr, nullptr, arguments, pointers.data()) == 0);

  admin::StartRunRequest plan;
  plan.set_job("job-1");
  plan.set_check(true);
  const auto somebody = [&] {
    admin::StartRunResponse response;
    return client.admin->StartRun(Client::Context().get(), plan, &response).ok();
  };
  CHECK(Eventually(somebody));
  kill(victim, SIGKILL);
  int how = 0;
  CHECK(waitpid(victim, &how, 0) == victim);
  CHECK(Eventually([&] { return !somebody(); }));
}

std::int64_t ResidentKb() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  }
  return 0;
}

TEST_CASE("10,000 bad requests leave no trace") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  const std::string large(20'000, 'x');
  const auto bother = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ::Status answer;
      switch (i % 5) {
        case 0:
          REQUIRE(
              client.Stress("unknown-" + std::to_string(i) + large, {{"n", {0}}}, &answer).ok());
          break;
        case 1:
          REQUIRE(client.Stress("unknown-" + std::to_string(i), {{large, {0}}}, &answer).ok());
          break;
        case 2:
          CHECK_FALSE(CallRaw(&client, kPaths[static_cast<std::size_t>(i) % kPaths.size()],
                              std::string(1000, '\xff'))
                          .ok());
          break;
        case 3:
          CHECK(Result(&client, "unknown-" + std::to_string(i)).Wait().status.error_code() ==
                grpc::StatusCode::NOT_FOUND);
          break;
        default:
          CHECK_FALSE(client.Apply("job-" + std::to_string(i), "{\"server_list\":\"" + large).ok());
      }
    }
  };
#if defined(__SANITIZE_ADDRESS__)
  bother(1000);  // the sanitizer quarantines freed memory, so there is nothing to measure
  return;
#endif
  bother(2000);  // allocate first what is retained for reuse
  const std::int64_t before = ResidentKb();
  bother(10'000);
  CHECK(ResidentKb() < before + 20 * 1024);
}

}  // namespace
}  // namespace assay::coordinator
