// Test doubles that the tests of the control loop and of its turn share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/ports.h"

namespace assay::control {

// Encodes nothing: every message is empty.
class NoEncoder final : public Encoder {
 public:
  Bytes Notify(const std::string&, const std::vector<core::RankOps>&) const override {
    return nullptr;
  }
  Bytes Result(const std::string&, const std::string&) const override { return nullptr; }
  EncodedMessage JobSignal(const core::Signal&, const std::string&) const override { return {}; }
  EncodedMessage JobSignalList(const std::vector<EncodedMessage>&, core::Ms,
                               std::size_t) const override {
    return {};
  }
};

// The status code as a word of a test's record of events.
inline std::string CodeName(const base::Status& status) {
  return std::to_string(static_cast<int>(status.code()));
}

}  // namespace assay::control
