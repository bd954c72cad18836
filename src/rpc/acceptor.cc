#include "rpc/acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/open_files.h"
#include "base/thread.h"

namespace assay::rpc {
namespace {

constexpr int kRetryMs = 100;  // while no descriptor is free
// Descriptors reserved for the database and other files; connections must not use them.
constexpr std::uint64_t kReserve = 32;

// A new descriptor gets the lowest free number, so a number this high means that few are free.
bool InReserve(int fd) {
  const std::uint64_t limit = base::OpenFilesLimit();
  return limit != base::kNoOpenFilesLimit && static_cast<std::uint64_t>(fd) + kReserve >= limit;
}

bool SetOption(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

base::Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found)) {
    return base::InvalidError("cannot listen on " + address.Text() + ": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  std::unique_ptr<Acceptor> acceptor(new Acceptor);
  acceptor->port_ = address.port;
  base::Status problem;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    base::Status added = acceptor->Add(address, *one);
    if (!added.ok()) problem = std::move(added);
  }
  // Ignore addresses of a family that this machine does not support, but fail if any address is in
  // use.
  if (acceptor->listeners_.empty() || problem.code() == base::Code::kConflict) return problem;
  return acceptor;
}

base::Status Acceptor::Add(const ListenAddress& address, const addrinfo& one) {
  sockaddr_storage copy{};
  std::memcpy(&copy, one.ai_addr, one.ai_addrlen);
  const int family = one.ai_family;
  // With port 0 all addresses use the port that the first one got.
  const auto port = htons(static_cast<std::uint16_t>(port_));
  if (family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&copy)->sin6_port = port;
  if (family == AF_INET) reinterpret_cast<sockaddr_in*>(&copy)->sin_port = port;
  base::UniqueFd listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = listener.get();
  const auto failed = [&] {
    const int error = errno;
    const std::string text = "cannot listen on " + address.Text() + ": " + std::strerror(error);
    if (error == EADDRINUSE) {
      return base::ConflictError(text + "; is another coordinator running there?");
    }
    return base::InvalidError(text);
  };
  if (!listener.valid()) return failed();
  SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  // [::] means every address, IPv4 included.
  if (family == AF_INET6) SetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, address.host == "::" ? 0 : 1);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&copy), one.ai_addrlen) != 0 ||
      listen(fd, SOMAXCONN) != 0) {
    return failed();
  }
  if (port_ == 0) port_ = PortOf(fd);
  listeners_.push_back(std::move(listener));
  return base::Status::Ok();
}

Acceptor::~Acceptor() { Stop(); }

base::Status Acceptor::Start(int user_timeout_ms,
                             std::function<void(const Connection&)> connected) {
  user_timeout_ms_ = user_timeout_ms;
  connected_ = std::move(connected);
  return base::StartThread(&thread_, "the acceptor", "acceptor", [this] { Run(); });
}

void Acceptor::Stop() {
  stop_.Signal();
  if (thread_.joinable()) thread_.join();
  listeners_.clear();
}

void Acceptor::Run() {
  std::vector<pollfd> polled = {{stop_.fd(), POLLIN, 0}};
  for (const base::UniqueFd& fd : listeners_) polled.push_back({fd.get(), POLLIN, 0});
  for (;;) {
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      base::LogError(std::string("acceptor: poll: ") + std::strerror(errno));
    }
    if ((polled[0].revents & POLLIN) != 0) return;
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) AcceptFrom(polled[i].fd);
    }
  }
}

// Accepts one connection, so that a flood on one address does not delay the others.
void Acceptor::AcceptFrom(int listener) {
  base::UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    const int error = errno;
    const bool none = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    // Other errors concern this connection only: it was closed or the network failed (accept(2)).
    if (none) NoneLeft(std::strerror(error));
    return;
  }
  if (InReserve(fd.get())) {
    fd.Reset();
    return NoneLeft("all but the " + std::to_string(kReserve) + " reserved ones are in use");
  }
  if (std::exchange(none_left_, false)) base::LogInfo("accepting connections again");
  SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms_);
  connected_({fd.Release(), listener});
}

void Acceptor::NoneLeft(const std::string& why) {
  if (!std::exchange(none_left_, true)) {
    base::LogError("cannot accept connections: no file descriptor is free (" + why +
                   "; the limit is " + std::to_string(base::OpenFilesLimit()) +
                   "); retrying; raise LimitNOFILE of the systemd unit, or `ulimit -n`");
  }
  (void)stop_.WaitFor(kRetryMs);
}

}  // namespace assay::rpc
