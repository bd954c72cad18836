// The stream to the coordinator: it reconnects after every kind of failure.
#include "agent/link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "agent/node_facts.h"
#include "fleet.pb.h"
#include "tests/agent/agent_rig.h"
#include "tests/agent/fake_coordinator.h"

namespace assay::agent {
namespace {

using Heard = FakeCoordinator::Heard;

TEST_CASE("CoordinatorTarget parses the coordinator's address", "[link]") {
  auto target = [](std::string_view text) {
    base::Result<std::string> read = CoordinatorTarget(text);
    return read.ok() ? *read : read.status().text();
  };
  CHECK(target("head:8899") == "dns:///head:8899");
  CHECK(target("head") == "dns:///head:8899");
  CHECK(target("10.0.0.1:1") == "dns:///10.0.0.1:1");
  CHECK(target("[fd00::1]:65535") == "dns:///[fd00::1]:65535");
  CHECK(target("[fd00::1]") == "dns:///[fd00::1]:8899");
  for (const char* wrong : {"", ":", ":8899", "head:", "head:0", "head:65536", "head:x", "head:1:2",
                            "fd00::1", "[fd00::1", "[fd00::1]8899", "[]:1", "http://head:8899",
                            "he ad:1", "head:8899/", "head\n:1"}) {
    const std::string text = target(wrong);
    INFO(text);
    CHECK(text.rfind("--coordinator=", 0) == 0);
  }
  CHECK(target(std::string(100'000, 'x') + "/").size() < 1024);
}

std::string Address(int family, const char* text) {
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  void* at = family == AF_INET
                 ? static_cast<void*>(&reinterpret_cast<sockaddr_in*>(&storage)->sin_addr)
                 : static_cast<void*>(&reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr);
  REQUIRE(inet_pton(family, text, at) == 1);
  return ReportedAddress(reinterpret_cast<const sockaddr*>(&storage));
}

TEST_CASE("only addresses that other machines can use are reported", "[link]") {
  CHECK(Address(AF_INET, "10.1.2.3") == "10.1.2.3");
  CHECK(Address(AF_INET, "127.0.0.1").empty());
  CHECK(Address(AF_INET, "127.255.0.1").empty());
  CHECK(Address(AF_INET, "169.254.9.9").empty());
  CHECK(Address(AF_INET, "0.0.0.0").empty());
  CHECK(Address(AF_INET6, "fd00::1") == "fd00::1");
  CHECK(Address(AF_INET6, "::1").empty());
  CHECK(Address(AF_INET6, "fe80::1").empty());
  CHECK(Address(AF_INET6, "::").empty());
  CHECK(Address(AF_INET6, "::ffff:10.1.2.3") == "10.1.2.3");
  CHECK(Address(AF_INET6, "::ffff:127.0.0.1").empty());
  CHECK(ReportedAddress(nullptr).empty());
  sockaddr other{};
  other.sa_family = AF_UNIX;
  CHECK(ReportedAddress(&other).empty());
}

TEST_CASE("an agent waits for a coordinator that has not started", "[link]") {
  int port = 0;
  {
    FakeCoordinator nobody;  // its port is free after this block
    port = nobody.port();
  }
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent("127.0.0.1:" + std::to_string(port), folder));
  CHECK_FALSE(agent->Wait(300));
  FakeCoordinator coordinator(port);
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.hellos.empty(); }));
}

TEST_CASE("an agent reconnects after every loss of the coordinator", "[link]") {
  support::TempDir folder;
  auto coordinator = std::make_unique<FakeCoordinator>();
  const int port = coordinator->port();
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator->address(), folder));
  for (int i = 0; i < 5; i++) {
    REQUIRE(coordinator->Until([](const Heard& heard) { return !heard.hellos.empty(); }));
    CHECK(coordinator->heard().order[0] == "hello");
    coordinator.reset();
    coordinator = std::make_unique<FakeCoordinator>(port);
  }
  for (std::size_t i = 2; i < 6; i++) {
    REQUIRE(coordinator->Until([i](const Heard& heard) { return heard.hellos.size() >= i - 1; }));
    coordinator->EndStreams();
  }
  REQUIRE(coordinator->Until([](const Heard& heard) { return heard.hellos.size() >= 5; }));
}

TEST_CASE("a refused agent retries until it is accepted", "[link]") {
  FakeCoordinator coordinator;
  coordinator.Refuse(1, "node n1: another agent of this name is attached from 10.0.0.9");
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.hellos.size() == 1; }));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.hellos.size() == 2; }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(1, 2))));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.ready.empty(); }));
}

TEST_CASE("the coordinator sets the heartbeat interval", "[link]") {
  FakeCoordinator coordinator;
  coordinator.Heartbeat(100);
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.heartbeats >= 5; }));
  CHECK(coordinator.heard().streams == 1);
}

TEST_CASE("an invalid message from the coordinator ends only the stream", "[link]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.hellos.size() == 1; }));
  SECTION("a message without a body") { coordinator.Say(fleet::CoordinatorMessage()); }
  SECTION("an op that does not exist") {
    fleet::CoordinatorMessage message;
    message.mutable_ack()->add_keys()->set_op(9);
    coordinator.Say(message);
  }
  SECTION("a string that is not UTF-8") {
    fleet::CoordinatorMessage message;
    message.mutable_assign()->set_job("\xFF\xFE");
    coordinator.Say(message);
  }
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.hellos.size() == 2; }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(Ranks(1, 2))));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.ready.empty(); }));
}

TEST_CASE("messages for unknown runs and ranks change nothing", "[link]") {
  FakeCoordinator coordinator;
  support::TempDir folder;
  std::unique_ptr<Agent> agent = MustStart(SimAgent(coordinator.address(), folder));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.hellos.size() == 1; }));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Start{77})));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Cancel{77})));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Ack{{{77, 3, core::Op::kP2p}}})));
  REQUIRE(coordinator.Say(core::CoordinatorMessage(core::Discard{77})));
  REQUIRE(coordinator.Until([](const Heard& heard) { return heard.discarded.size() == 1; }));
  core::Assign assign = Ranks(1, 2);
  assign.ranks.push_back({7, 4'000'000, core::OpSet(3)});
  REQUIRE(coordinator.Say(core::CoordinatorMessage(assign)));
  REQUIRE(coordinator.Until([](const Heard& heard) { return !heard.ready.empty(); }));
  CHECK(OutcomeOf(coordinator.heard(), 1, 7, core::Op::kAic).detail.find("no device 4000000") == 0);
}

// A port that accepts connections and sends nothing, or something that is not HTTP/2.
class Listener {
 public:
  explicit Listener(std::string answer) : answer_(std::move(answer)) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(listen(fd_, 8) == 0);
    socklen_t size = sizeof(address);
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  int port() const { return port_; }
  // Accepts a connection and sends the answer; the caller closes it.
  int Accept() const {
    const int connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    REQUIRE(connection >= 0);
    if (!answer_.empty()) {
      REQUIRE(send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL) >= 0);
    }
    return connection;
  }

 private:
  const std::string answer_;
  int fd_ = -1;
  int port_ = 0;
};

TEST_CASE("an agent retries when another service listens on the coordinator's port", "[link]") {
  const std::string answer = GENERATE(std::string("HTTP/1.1 400 Bad Request\r\n\r\n"),
                                      std::string(100'000, '\xA5'), std::string());
  Listener listener(answer);
  support::TempDir folder;
  std::unique_ptr<Agent> agent =
      MustStart(SimAgent("127.0.0.1:" + std::to_string(listener.port()), folder));
  const int first = listener.Accept();
  if (!answer.empty()) close(first);
  const int second = listener.Accept();  // a new attempt
  close(second);
  if (answer.empty()) close(first);
  agent->RequestStop();
  REQUIRE(agent->Wait(kTestWaitMs));
}

}  // namespace
}  // namespace assay::agent
