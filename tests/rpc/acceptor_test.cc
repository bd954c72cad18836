#include "rpc/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace assay::rpc {
namespace {

constexpr int kPatienceMs = 20'000;

ListenAddress Loopback(int port) {
  ListenAddress address;
  address.host = "127.0.0.1";
  address.port = port;
  return address;
}

// Owns the accepted connections.
class Receiver {
 public:
  ~Receiver() { CloseAll(); }
  void Take(const Acceptor::Connection& connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fds_.push_back(connection.fd);
    came_.notify_all();
  }
  bool WaitFor(std::size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return came_.wait_for(lock, std::chrono::milliseconds(kPatienceMs),
                          [&] { return fds_.size() >= count; });
  }
  int last() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return fds_.back();
  }
  void CloseAll() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int fd : fds_) close(fd);
    fds_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<int> fds_;
};

// Returns a connected socket; -1: refused.
int ConnectTo(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) return fd;
  close(fd);
  return -1;
}

// True: the other side has closed the connection.
bool IsClosed(int fd) {
  pollfd polled{fd, POLLIN, 0};
  REQUIRE(poll(&polled, 1, kPatienceMs) == 1);
  char byte = 0;
  return recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

std::unique_ptr<Acceptor> Started(Receiver* receiver) {
  std::unique_ptr<Acceptor> acceptor = Acceptor::Listen(Loopback(0)).value();
  REQUIRE(acceptor->port() > 0);
  const auto take = [receiver](const Acceptor::Connection& one) { receiver->Take(one); };
  REQUIRE(acceptor->Start(50'000, take).ok());
  return acceptor;
}

TEST_CASE("a connection is passed on, non-blocking and close-on-exec") {
  Receiver receiver;
  const auto acceptor = Started(&receiver);
  const int client = ConnectTo(acceptor->port());
  REQUIRE(client >= 0);
  REQUIRE(receiver.WaitFor(1));
  CHECK((fcntl(receiver.last(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((fcntl(receiver.last(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write(client, "x", 1) == 1);
  pollfd polled{receiver.last(), POLLIN, 0};
  REQUIRE(poll(&polled, 1, kPatienceMs) == 1);
  char byte = 0;
  CHECK(read(receiver.last(), &byte, 1) == 1);
  CHECK(byte == 'x');
  close(client);
}

TEST_CASE("after Stop connections are refused, and the port is free") {
  Receiver receiver;
  const auto acceptor = Started(&receiver);
  acceptor->Stop();
  CHECK(ConnectTo(acceptor->port()) == -1);
  CHECK(Acceptor::Listen(Loopback(acceptor->port())).ok());
}

TEST_CASE("a port in use is reported as a conflict") {
  Receiver receiver;
  const auto acceptor = Started(&receiver);
  const auto second = Acceptor::Listen(Loopback(acceptor->port()));
  REQUIRE_FALSE(second.ok());
  CHECK(second.status().code() == base::Code::kConflict);
  CHECK_THAT(second.status().text(),
             Catch::Contains("127.0.0.1:" + std::to_string(acceptor->port())) &&
                 Catch::Contains("Address already in use"));
}

TEST_CASE("an unknown host is an error that names it") {
  ListenAddress address;
  address.host = "no-such-host.invalid";
  const auto acceptor = Acceptor::Listen(address);
  REQUIRE_FALSE(acceptor.ok());
  CHECK_THAT(acceptor.status().text(), Catch::Contains("no-such-host.invalid"));
}

TEST_CASE("without a free file descriptor the acceptor waits, and resumes when there is one") {
  Receiver receiver;
  const auto acceptor = Started(&receiver);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int probe = dup(0);
  REQUIRE(probe >= 0);
  close(probe);
  rlimit narrow = before;
  narrow.rlim_cur = static_cast<rlim_t>(probe) + 32 + 12;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &narrow) == 0);
  std::vector<int> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(ConnectTo(acceptor->port()));
  const bool refused = IsClosed(clients.back());
  for (const int client : clients) close(client);
  receiver.CloseAll();
  const int later = ConnectTo(acceptor->port());
  const bool came = receiver.WaitFor(1);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(refused);
  CHECK(later >= 0);
  CHECK(came);
  close(later);
}

}  // namespace
}  // namespace assay::rpc
