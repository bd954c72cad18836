#include "base/host_port.h"

#include <algorithm>

#include "base/ip_address.h"
#include "base/number.h"
#include "base/text.h"

namespace assay::base {
namespace {

constexpr int kPortMax = 65'535;
constexpr std::size_t kHostBytesMax = 255;

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kHostBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

// RFC 4007: an address and, after '%', the interface that a link-local address belongs to.
bool IsIpv6WithZone(std::string_view text) {
  const std::size_t percent = text.find('%');
  if (!IsIpv6Address(text.substr(0, percent))) return false;
  return percent == std::string_view::npos || IsName(text.substr(percent + 1));
}

// A text taken apart. `problem`: why that failed, or empty.
struct Pieces {
  std::string_view host;                 // without brackets
  std::optional<std::string_view> port;  // no value: there is no colon for it
  std::string problem = {};
};

Pieces TakeBracketed(std::string_view text) {
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return {{}, {}, ": the bracket is not closed"};
  const std::string_view host = text.substr(1, end - 1);
  const std::string_view rest = text.substr(end + 1);
  if (host.empty()) return {{}, {}, " has no host"};
  if (!IsIpv6WithZone(host)) return {{}, {}, ": " + Quoted(host) + " is not an IPv6 address"};
  if (rest.empty()) return {host, {}};
  if (rest.front() != ':') return {{}, {}, ": only :PORT may follow the bracket"};
  return {host, rest.substr(1)};
}

Pieces TakePlain(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
    return {{}, {}, ": an IPv6 address must be in brackets"};
  }
  if (host.empty()) return {{}, {}, " has no host"};
  if (!IsName(host)) return {{}, {}, ": " + Quoted(host) + " is not a host name or an address"};
  if (colon == std::string_view::npos) return {host, {}};
  return {host, text.substr(colon + 1)};
}

}  // namespace

std::string HostPort::Text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<HostPort> ParseHostPort(std::string_view text, const HostPortRules& rules) {
  const auto wrong = [text](const std::string& what) {
    return InvalidError(Quoted(text) + what +
                        "; write HOST:PORT, for example head:8899 or [::1]:8899");
  };
  const Pieces pieces = text.starts_with('[') ? TakeBracketed(text) : TakePlain(text);
  if (!pieces.problem.empty()) return wrong(pieces.problem);
  if (!pieces.port) {
    if (!rules.default_port) return wrong(" has no port");
    return HostPort{std::string(pieces.host), *rules.default_port};
  }
  const std::optional<int> port =
      pieces.port->size() <= 5 ? ParseNumber<int>(*pieces.port) : std::nullopt;
  if (!port || *port < rules.port_min || *port > kPortMax) {
    return wrong(": port " + Quoted(*pieces.port) + " is not a number from " +
                 std::to_string(rules.port_min) + " to " + std::to_string(kPortMax));
  }
  return HostPort{std::string(pieces.host), *port};
}

}  // namespace assay::base
