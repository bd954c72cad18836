#include "rpc/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include "base/text.h"

namespace assay::rpc {
namespace {

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::optional<int> ParsePort(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  int port = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    port = port * 10 + (c - '0');
  }
  if (port > 65'535) return std::nullopt;
  return port;
}

}  // namespace

std::string ListenAddress::Text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

base::Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return base::InvalidError("listen address " + base::Quoted(text) + ": " + std::string(what) +
                              "; write HOST:PORT, for example 127.0.0.1:8899 or [::1]:8899");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("the port is missing");
  const std::optional<int> port = ParsePort(text.substr(colon + 1));
  if (!port.has_value()) return wrong("the port is not a number from 0 to 65535");
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return wrong("the host is missing (0.0.0.0 or [::] mean every address)");
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool colons = host.find(':') != std::string_view::npos;
  if (colons && !bracketed) return wrong("an IPv6 address must be in brackets");
  ListenAddress address;
  address.host = host;
  in6_addr v6{};
  if (bracketed && inet_pton(AF_INET6, address.host.c_str(), &v6) != 1) {
    return wrong("the text in brackets is not an IPv6 address");
  }
  if (host.size() > 255 || host.find_first_of(" \t/%") != std::string_view::npos ||
      base::Shown(host, 255) != host) {
    return wrong("the host is not a host name or an address");
  }
  address.port = *port;
  address.loopback = IsLoopback(address.host);
  return address;
}

}  // namespace assay::rpc
