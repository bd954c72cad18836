// Listens, accepts connections and passes each one to gRPC.
//
// gRPC's own listener stops accepting forever when no file descriptor is left for a connection
// (tcp_server_posix.cc of gRPC 1.51): the process lives, but is unreachable. This one logs the
// shortage once, waits, and resumes as soon as a descriptor is free.
//
// Thread safety: Listen, Start, Stop and the destructor from the thread that owns it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "lockfree/wake_event.h"
#include "rpc/listen_address.h"

struct addrinfo;

namespace assay::rpc {

class Acceptor {
 public:
  // Listens on every address that the host resolves to; connections wait until Start. kConflict
  // when an address is in use, else kInvalid, both with the system's reason.
  static base::Result<std::unique_ptr<Acceptor>> Listen(const ListenAddress& address);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }

  struct Connection {
    int fd = -1;  // non-blocking; the callback owns it
    int listener = -1;
  };
  // user_timeout_ms: how long sent data may stay unacknowledged (TCP_USER_TIMEOUT), as gRPC sets it
  // on the connections it accepts itself. connected: called on the acceptor's thread; must not
  // block.
  base::Status Start(int user_timeout_ms, std::function<void(const Connection&)> connected);
  // Closes the listeners: the system refuses new connections, and `connected` is not called any
  // more.
  void Stop();

 private:
  Acceptor() = default;

  base::Status Add(const ListenAddress& address, const addrinfo& one);
  void Run();
  void AcceptFrom(int listener);
  void NoneLeft(const std::string& why);

  std::vector<base::UniqueFd> listeners_;
  int port_ = 0;
  int user_timeout_ms_ = 0;
  std::function<void(const Connection&)> connected_;
  lockfree::WakeEvent stop_;
  bool none_left_ = false;  // no descriptor is free, and that was logged
  std::thread thread_;
};

}  // namespace assay::rpc
