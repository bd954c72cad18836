// The address that a coordinator listens on (--listen), as base/host_port.h reads it.
//
// Thread safety: values and pure functions.
#pragma once

#include <string_view>

#include "base/host_port.h"
#include "base/status.h"

namespace assay::rpc {

struct ListenAddress : base::HostPort {  // port 0: the system chooses a free one
  bool loopback = false;
};

// Port 0 is allowed. The port must be given: a default would hide a typing error. kInvalid names
// the flag, the problem and the expected form.
base::Result<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace assay::rpc
