// Addresses as users write them: HOST:PORT, where HOST is a host name, an IPv4 address, or an IPv6
// address in brackets.
//
//   Result<HostPort> address = ParseHostPort("head", {.default_port = 8899});  // head:8899
//
// An IPv6 address without brackets is refused: "fd00::1:8899" is an address without a port, and the
// user almost certainly meant something else.
//
// Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::base {

// The port and the address that a coordinator listens on and its clients connect to, unless a flag
// names others.
inline constexpr int kCoordinatorPort = 8899;
inline constexpr char kCoordinatorAddress[] = "127.0.0.1:8899";

struct HostPort {
  std::string host;  // without brackets; may end with the zone of an IPv6 address ("fe80::1%eth0")
  int port = 0;

  // "host:port", with an IPv6 host in brackets.
  std::string Text() const;
};

struct HostPortRules {
  std::optional<int> default_port = std::nullopt;  // no value: the port must be given
  int port_min = 1;
};

// kInvalid: the text quotes `text` and says what is wrong with it and which form is expected. The
// caller prepends the name of the flag. Does not resolve the host.
Result<HostPort> ParseHostPort(std::string_view text, const HostPortRules& rules);

}  // namespace assay::base
