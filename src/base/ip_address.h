// Checks whether a text is an IP address: dotted IPv4, or IPv6 in the notation of RFC 4291 (with ::
// and an embedded IPv4 tail, without zone or brackets). Never resolves names.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

namespace assay::base {

bool IsIpv4Address(std::string_view text);
bool IsIpv6Address(std::string_view text);
inline bool IsIpAddress(std::string_view text) {
  return IsIpv4Address(text) || IsIpv6Address(text);
}

// One IP address, or several separated by commas; spaces around an address are allowed.
bool IsIpAddressList(std::string_view text);

}  // namespace assay::base
