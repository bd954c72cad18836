// What the sim driver is told to do: `3:aic=faulty,5:p2p=hang,6:aic=crash,2:open=fail`.
//
// An entry is DEVICE:CALL=OUTCOME; what is not named is ok.
//   CALL     open, aic, prepare (of the p2p test), p2p, safe (making the device safe)
//   OUTCOME  aic, p2p:  ok, not_run, faulty, voltage, slow, spew, or one of those below
//            every call: fail, hang, hang_voltage, crash, crash_voltage, exit, garbage
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace assay::driver {

enum class SimCall : std::uint8_t { kOpen, kAic, kPrepare, kP2p, kSafe };

enum class SimOutcome : std::uint8_t {
  kOk,
  kNotRun,        // code 1
  kFaulty,        // code 2
  kVoltage,       // code 4, and the voltage stays changed
  kSlow,          // ok, after ten times the usual time
  kSpew,          // ok, with 8 MiB of text on standard output and standard error
  kFail,          // an error; of an op: code 1
  kHang,          // never returns
  kHangVoltage,   // never returns, and the voltage stays changed
  kCrash,         // the process dies of SIGSEGV
  kCrashVoltage,  // and the voltage stays changed
  kExit,          // the process ends with status 7
  kGarbage,       // writes what is no frame to the agent, then hangs
};

class SimPlan {
 public:
  // kInvalid names the entry, what is wrong with it and what is allowed.
  static Result<SimPlan> Parse(std::string_view text, std::int32_t devices);

  SimOutcome For(std::int32_t device, SimCall call) const;

  // Whether some op of this device leaves the voltage changed. MakeSafe runs in a process of its
  // own that cannot know which op was begun, so the plan of the device decides.
  bool LeavesVoltageChanged(std::int32_t device) const;

 private:
  std::map<std::pair<std::int32_t, SimCall>, SimOutcome> entries_;
};

}  // namespace assay::driver
