// A fault planted in the host driver's own results, so that a test, or an operator who doubts the
// test, can see that it is found: `DEVICE:OP=KIND@ROUND`, such as `1:aic=flip@3`.
//
//   flip    one bit of one result is wrong once: found, computed anew, right -> faulty
//   stuck   the same bit is wrong each time: found, but not shown to be the hardware -> not_run
//   source  (p2p) one bit of the device's own source buffer changes -> faulty
//   answer  (aic) the known-answer test fails -> not_run; its round is not used
//
// A round is one pass over all products or peers, counted from 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "core/op.h"

namespace assay::driver {

enum class FaultKind : std::uint8_t { kNone, kFlip, kStuck, kSource, kAnswer };

struct Fault {
  std::int32_t device = 0;
  Op op = Op::kAic;
  FaultKind kind = FaultKind::kNone;
  std::int64_t round = 0;

  bool Is(FaultKind wanted, std::int64_t now) const { return kind == wanted && round == now; }
};

// "" is no fault. kInvalid says what is wrong and what is allowed.
Result<Fault> ParseFault(std::string_view text);

}  // namespace assay::driver
