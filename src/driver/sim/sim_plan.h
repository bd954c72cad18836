// The plan of the sim driver: `3:aic=faulty,5:p2p=hang,6:aic=crash,2:open=fail`.
//
// An entry is DEVICE:CALL=OUTCOME. A call without an entry succeeds.
//   CALL     open, aic, prepare (of the p2p test), p2p, safe (making the device safe)
//   OUTCOME  every call:    fail, hang, hang_voltage, crash, crash_voltage, exit, garbage
//            aic, p2p also: ok, not_run, faulty, voltage, slow, spew
//
// Thread safety: none; a plan is constant after Parse.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace assay::driver::sim {

enum class SimCall : std::uint8_t { kOpen, kAic, kPrepare, kP2p, kSafe };

enum class SimOutcome : std::uint8_t {
  kOk,
  kNotRun,        // code 1
  kFaulty,        // code 2
  kVoltage,       // code 4, and the voltage stays changed
  kSlow,          // ok, after ten times the usual time
  kSpew,          // ok, after 8 MiB of text on standard output and standard error
  kFail,          // an error; for an op, code 1
  kHang,          // never returns
  kHangVoltage,   // never returns, and the voltage stays changed
  kCrash,         // the process dies of SIGSEGV
  kCrashVoltage,  // the process dies of SIGSEGV, and the voltage stays changed
  kExit,          // the process exits with status 7
  kGarbage,       // writes an invalid frame to the agent, then never returns
};

class SimPlan {
 public:
  // kInvalid names the entry, the mistake and the allowed values.
  static base::Result<SimPlan> Parse(std::string_view text, std::int32_t devices);

  SimOutcome For(std::int32_t device, SimCall call) const;

  // True if an op of this device leaves the voltage changed. MakeSafe runs in a separate process,
  // which cannot tell which op had begun, so it depends on the device's plan alone.
  bool LeavesVoltageChanged(std::int32_t device) const;

 private:
  std::map<std::pair<std::int32_t, SimCall>, SimOutcome> entries_;
};

}  // namespace assay::driver::sim
