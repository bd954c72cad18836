// Listens, and hands every connection that comes to gRPC.
//
// gRPC's own listener gives up for ever when a connection cannot be accepted because no file
// descriptor is left (tcp_server_posix.cc of gRPC 1.51): the process lives, and nobody reaches it
// again. This one waits, says so once, and goes on as soon as there is one.
//
// Thread safety: Start, Stop and the destructor from the thread that owns it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "lockfree/wake_event.h"
#include "rpc/listen_address.h"

struct addrinfo;

namespace assay {

class Acceptor {
 public:
  // Listens on every address that the host has; what comes waits for Start. kConflict with the
  // system's reason when it cannot.
  static Result<std::unique_ptr<Acceptor>> Listen(const ListenAddress& address);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }

  struct Connection {
    int fd = -1;  // non-blocking; now the receiver's
    int listener = -1;
  };
  // user_timeout_ms: how long what was sent may stay unacknowledged (TCP_USER_TIMEOUT), as gRPC
  // sets it on the connections it accepts itself. connected: called on the acceptor's thread; must
  // not block.
  Status Start(int user_timeout_ms, std::function<void(const Connection&)> connected);
  // No connection is handed over any more; new ones are refused.
  void Stop();

 private:
  Acceptor() = default;

  Status Add(const ListenAddress& address, const addrinfo& one);
  void Run();
  void AcceptFrom(int listener);
  void NoneLeft(const std::string& why);

  std::vector<int> listeners_;
  int port_ = 0;
  int user_timeout_ms_ = 0;
  std::function<void(const Connection&)> connected_;
  WakeEvent stop_;
  bool none_left_ = false;  // said
  std::thread thread_;
};

}  // namespace assay
