#include "agent/node_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace assay::agent {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

std::string AskFqdn(const std::string& host_name) {
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host_name.c_str(), nullptr, &hints, &found) != 0) return {};
  std::string name;
  if (found != nullptr && found->ai_canonname != nullptr) name = found->ai_canonname;
  freeaddrinfo(found);
  return name;
}

// A name server that does not answer blocks getaddrinfo for a minute, and the call cannot be
// cancelled. On a timeout its thread is left behind; it shares only the promise with this function.
std::string Fqdn(const std::string& host_name, core::Ms wait) {
  if (host_name.empty()) return {};
  auto promise = std::make_shared<std::promise<std::string>>();
  std::future<std::string> answer = promise->get_future();
  const base::Status started =
      base::StartDetachedThread("the lookup of this machine's name", "name-lookup",
                                [promise, host_name] { promise->set_value(AskFqdn(host_name)); });
  if (!started.ok()) {
    base::LogWarn("the FQDN of this machine is unknown: " + started.text());
    return {};
  }
  if (answer.wait_for(std::chrono::milliseconds(wait)) != std::future_status::ready) return {};
  return answer.get();
}

template <class Address>
const Address& As(const sockaddr* address) {
  return *reinterpret_cast<const Address*>(address);
}

}  // namespace

std::string ReportedAddress(const sockaddr* address) {
  if (address == nullptr) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    const in_addr& ip = As<sockaddr_in>(address).sin_addr;
    const std::uint32_t bits = ntohl(ip.s_addr);
    const bool loopback = (bits >> 24) == 127;
    const bool link_local = (bits >> 16) == 0xA9FE;  // 169.254/16, RFC 3927
    if (bits == 0 || loopback || link_local) return {};
    return inet_ntop(AF_INET, &ip, text.data(), text.size()) != nullptr ? text.data() : "";
  }
  if (address->sa_family == AF_INET6) {
    const in6_addr& ip = As<sockaddr_in6>(address).sin6_addr;
    if (IN6_IS_ADDR_UNSPECIFIED(&ip) || IN6_IS_ADDR_LOOPBACK(&ip) || IN6_IS_ADDR_LINKLOCAL(&ip)) {
      return {};
    }
    if (IN6_IS_ADDR_V4MAPPED(&ip)) {
      sockaddr_in mapped{};
      mapped.sin_family = AF_INET;
      std::copy(ip.s6_addr + 12, ip.s6_addr + 16,
                reinterpret_cast<unsigned char*>(&mapped.sin_addr.s_addr));
      return ReportedAddress(reinterpret_cast<const sockaddr*>(&mapped));
    }
    return inet_ntop(AF_INET6, &ip, text.data(), text.size()) != nullptr ? text.data() : "";
  }
  return {};
}

std::vector<std::string> ReportedAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0) continue;
    std::string text = ReportedAddress(one->ifa_addr);
    if (!text.empty()) addresses.push_back(std::move(text));
  }
  freeifaddrs(list);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

core::Node MachineFacts(core::Ms fqdn_wait) {
  core::Node node;
  node.host_name = HostName();
  node.fqdn = Fqdn(node.host_name, fqdn_wait);
  node.addresses = ReportedAddresses();
  return node;
}

}  // namespace assay::agent
