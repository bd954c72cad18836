#include "base/ip_address.h"

#include <cstddef>

namespace assay::base {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The number of 16-bit groups in text; an IPv4 tail counts as two. -1: not a list of groups.
int GroupCount(std::string_view text, bool tail_allowed) {
  if (text.empty()) return 0;
  int groups = 0;
  for (;;) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    const bool last = colon == std::string_view::npos;
    if (last && tail_allowed && IsIpv4Address(group)) return groups + 2;
    if (group.empty() || group.size() > 4) return -1;
    for (const char c : group) {
      if (!IsHex(c)) return -1;
    }
    ++groups;
    if (last) return groups;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

bool IsIpv4Address(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    int value = 0;
    std::size_t digits = 0;
    while (digits < text.size() && digits < 4 && IsDigit(text[digits])) {
      value = 10 * value + (text[digits++] - '0');
    }
    if (digits == 0 || value > 255 || (digits > 1 && text[0] == '0')) return false;
    text.remove_prefix(digits);
    if (part == 3) return text.empty();
    if (text.empty() || text[0] != '.') return false;
    text.remove_prefix(1);
  }
  return false;
}

bool IsIpv6Address(std::string_view text) {
  if (text.size() > 45) return false;  // the longest form, with an IPv4 tail
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return GroupCount(text, true) == 8;
  const int front = GroupCount(text.substr(0, gap), false);
  const int back = GroupCount(text.substr(gap + 2), true);
  return front >= 0 && back >= 0 && front + back <= 7;
}

bool IsIpAddressList(std::string_view text) {
  for (;;) {
    const std::size_t comma = text.find(',');
    std::string_view address = text.substr(0, comma);
    while (!address.empty() && address.front() == ' ') address.remove_prefix(1);
    while (!address.empty() && address.back() == ' ') address.remove_suffix(1);
    if (!IsIpAddress(address)) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace assay::base
