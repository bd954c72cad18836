#include "driver/sim/sim_plan.h"

#include <optional>
#include <string>

#include "base/number.h"
#include "base/text.h"

namespace assay::driver::sim {
namespace {

struct CallName {
  std::string_view name;
  SimCall call;
};
constexpr CallName kCalls[] = {{"open", SimCall::kOpen},
                               {"aic", SimCall::kAic},
                               {"prepare", SimCall::kPrepare},
                               {"p2p", SimCall::kP2p},
                               {"safe", SimCall::kSafe}};

struct OutcomeName {
  std::string_view name;
  SimOutcome outcome;
  bool only_ops;  // allowed only for aic and p2p
};
constexpr OutcomeName kOutcomes[] = {{"ok", SimOutcome::kOk, true},
                                     {"not_run", SimOutcome::kNotRun, true},
                                     {"faulty", SimOutcome::kFaulty, true},
                                     {"voltage", SimOutcome::kVoltage, true},
                                     {"slow", SimOutcome::kSlow, true},
                                     {"spew", SimOutcome::kSpew, true},
                                     {"fail", SimOutcome::kFail, false},
                                     {"hang", SimOutcome::kHang, false},
                                     {"hang_voltage", SimOutcome::kHangVoltage, false},
                                     {"crash", SimOutcome::kCrash, false},
                                     {"crash_voltage", SimOutcome::kCrashVoltage, false},
                                     {"exit", SimOutcome::kExit, false},
                                     {"garbage", SimOutcome::kGarbage, false}};

bool IsOp(SimCall call) { return call == SimCall::kAic || call == SimCall::kP2p; }

std::string AllowedCalls() {
  std::string out;
  for (const CallName& known : kCalls) {
    if (!out.empty()) out += ", ";
    out += known.name;
  }
  return out;
}

std::string AllowedOutcomes(SimCall call) {
  std::string out;
  for (const OutcomeName& known : kOutcomes) {
    if (known.only_ops && !IsOp(call)) continue;
    if (!out.empty()) out += ", ";
    out += known.name;
  }
  return out;
}

base::Status EntryError(std::string_view entry, const std::string& what) {
  return base::InvalidError("--sim: entry '" + base::Printable(entry, 60) + "': " + what);
}

struct Entry {
  std::int32_t device = 0;
  SimCall call = SimCall::kAic;
  SimOutcome outcome = SimOutcome::kOk;
};

base::Result<Entry> ParseEntry(std::string_view text, std::int32_t devices) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=', colon == std::string_view::npos ? 0 : colon);
  if (colon == std::string_view::npos || equals == std::string_view::npos) {
    return EntryError(text, "expected DEVICE:CALL=OUTCOME, such as 3:aic=faulty");
  }
  const std::string_view device = text.substr(0, colon);
  const std::string_view call = text.substr(colon + 1, equals - colon - 1);
  const std::string_view outcome = text.substr(equals + 1);

  Entry entry;
  const auto number = base::ParseNumber<decltype(entry.device)>(device);
  if (!number || *number < 0 || *number >= devices) {
    return EntryError(text, "there is no device '" + base::Printable(device, 20) +
                                "'; --sim-devices=" + std::to_string(devices) + " has 0 to " +
                                std::to_string(devices - 1));
  }
  entry.device = *number;
  bool known_call = false;
  for (const CallName& known : kCalls) {
    if (known.name != call) continue;
    entry.call = known.call;
    known_call = true;
  }
  if (!known_call) {
    return EntryError(
        text, "unknown call '" + base::Printable(call, 20) + "'; calls are " + AllowedCalls());
  }
  for (const OutcomeName& known : kOutcomes) {
    if (known.name != outcome || (known.only_ops && !IsOp(entry.call))) continue;
    entry.outcome = known.outcome;
    return entry;
  }
  return EntryError(text, "'" + base::Printable(outcome, 20) + "' is not an outcome of " +
                              std::string(call) + "; allowed are " + AllowedOutcomes(entry.call));
}

}  // namespace

base::Result<SimPlan> SimPlan::Parse(std::string_view text, std::int32_t devices) {
  SimPlan plan;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    base::Result<Entry> entry = ParseEntry(part, devices);
    if (!entry.ok()) return entry.status();
    if (!plan.entries_.emplace(std::pair(entry->device, entry->call), entry->outcome).second) {
      return EntryError(part, "this device and call already have an entry");
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return EntryError("", "no entry after the last comma");
  }
  return plan;
}

SimOutcome SimPlan::For(std::int32_t device, SimCall call) const {
  const auto it = entries_.find({device, call});
  return it == entries_.end() ? SimOutcome::kOk : it->second;
}

bool SimPlan::LeavesVoltageChanged(std::int32_t device) const {
  for (const auto& [key, outcome] : entries_) {
    if (key.first != device) continue;
    if (outcome == SimOutcome::kVoltage || outcome == SimOutcome::kHangVoltage ||
        outcome == SimOutcome::kCrashVoltage) {
      return true;
    }
  }
  return false;
}

}  // namespace assay::driver::sim
