// The address a coordinator listens on, as people write it: HOST:PORT, [IPv6]:PORT.
//
// Thread safety: values; pure.
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

}  // namespace assay
