// No log lines while it lives: for tests that provoke them.
#pragma once

#include "base/log.h"

namespace assay {

class Quiet {
 public:
  Quiet() { SetLogLevel(LogLevel::kOff); }
  ~Quiet() { SetLogLevel(LogLevel::kInfo); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

}  // namespace assay
