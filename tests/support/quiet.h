// Turns logging off while it exists, for tests that provoke log lines.
#pragma once

#include "base/log.h"

namespace assay::support {

class Quiet {
 public:
  Quiet() { SetLogLevel(base::LogLevel::kOff); }
  ~Quiet() { SetLogLevel(base::LogLevel::kInfo); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

}  // namespace assay::support
