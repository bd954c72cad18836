// Texts that are IP addresses: dotted IPv4, and IPv6 as RFC 4291 writes it (with :: and an embedded
// IPv4 tail, without zone or brackets). No name is ever resolved.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

namespace assay {

bool IsIpv4Address(std::string_view text);
bool IsIpv6Address(std::string_view text);
inline bool IsIpAddress(std::string_view text) {
  return IsIpv4Address(text) || IsIpv6Address(text);
}

// One address, or several separated by commas (spaces around them allowed), each an IP address.
bool IsIpAddressList(std::string_view text);

}  // namespace assay
