// The address a coordinator listens on, written as HOST:PORT or [IPv6]:PORT.
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::rpc {

struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;      // 0: the system chooses a free one
  bool loopback = false;

  // "host:port", with an IPv6 host in brackets.
  std::string Text() const;
};

// kInvalid with the problem and the expected form.
base::Result<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace assay::rpc
