// The address a coordinator listens on, as people write it: HOST:PORT, [IPv6]:PORT.
//
// Thread safety: values; pure, but for WhyNot.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace assay {

struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;      // 0: a free one
  bool loopback = false;

  // "host:port", an IPv6 host in brackets.
  std::string Text() const;
};

// kInvalid with what is wrong and how it should look.
Result<ListenAddress> ParseListenAddress(std::string_view text);

// For an address that could not be listened on: the system's reason in words, "" when it has none
// (any more).
std::string WhyNotListen(const ListenAddress& address);

}  // namespace assay
