#include "rpc/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <utility>

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

}  // namespace

base::Result<ListenAddress> ParseListenAddress(std::string_view text) {
  base::Result<base::HostPort> parsed = base::ParseHostPort(text, {.port_min = 0});
  if (!parsed.ok()) return base::InvalidError("--listen=" + parsed.status().text());
  ListenAddress address{*std::move(parsed)};
  if (address.host.find('%') != std::string::npos) {
    return base::InvalidError("--listen=" + base::Quoted(text) +
                              ": an address with a zone is not supported; write HOST:PORT with the "
                              "name or another address of this machine");
  }
  address.loopback = IsLoopback(address.host);
  return address;
}

}  // namespace assay::rpc
