// Turns logging off while it exists, for tests that provoke log lines.
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
