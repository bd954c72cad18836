// A fault planted in the host driver's own results, to prove that a test detects it:
// `DEVICE:OP=KIND@ROUND`, such as `1:aic=flip@3`.
//
//   flip    one bit of one result is wrong once, and right when repeated -> faulty
//   stuck   the same bit is wrong each time: not shown to be a hardware fault -> not_run
//   source  (p2p) one bit of the device's own source buffer changes -> faulty
//   answer  (aic) the known-answer test fails -> not_run; its round is not used
//
// A round is one pass over all products or peers, counted from 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "core/op.h"

namespace assay::driver::host {

enum class FaultKind : std::uint8_t { kNone, kFlip, kStuck, kSource, kAnswer };

struct Fault {
  std::int32_t device = 0;
  core::Op op = core::Op::kAic;
  FaultKind kind = FaultKind::kNone;
  std::int64_t round = 0;

  bool Is(FaultKind wanted, std::int64_t now) const { return kind == wanted && round == now; }
};

// An empty text means no fault. kInvalid shows the text and the allowed form.
base::Result<Fault> ParseFault(std::string_view text);

}  // namespace assay::driver::host
