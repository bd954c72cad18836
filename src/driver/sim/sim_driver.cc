#include "driver/sim/sim_driver.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "driver/sim/sim_plan.h"

namespace assay::driver::sim {
namespace {

constexpr OptionSpec kOptions[] = {
    {"sim-devices", OptionSpec::Type::kNumber, 1, 64, 8, "", "sim: number of devices"},
    {"sim-op-ms", OptionSpec::Type::kNumber, 0, 86'400'000, 200, "",
     "sim: duration of each op, in milliseconds"},
    {"sim", OptionSpec::Type::kText, 0, 0, 0, "PLAN",
     "sim: outcomes, for example 3:aic=faulty,5:p2p=hang (default: ok)"},
};
constexpr const OptionSpec& kDevices = kOptions[0];
constexpr const OptionSpec& kOpTime = kOptions[1];
constexpr const OptionSpec& kPlan = kOptions[2];

constexpr int kExitStatus = 7;
constexpr int kSlowFactor = 10;
constexpr int kSteps = 4;  // of progress in an op

[[noreturn]] void Hang() {
  for (;;) pause();
}

[[noreturn]] void Crash() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
  std::abort();
}

void WriteText(int fd, const std::string& text) {
  // A failed write is ignored: no caller depends on the text being read.
  [[maybe_unused]] const auto written = write(fd, text.data(), text.size());
}

void Spew() {
  const std::string line(1023, 'x');
  for (int i = 0; i < 4096; ++i) {
    WriteText(STDOUT_FILENO, line + '\n');
    WriteText(STDERR_FILENO, line + '\n');
  }
}

std::string BlobOf(const GroupMember& member) {
  return "sim rank " + std::to_string(member.rank) + " device " + std::to_string(member.device);
}

// Performs the outcomes that end or block the process, the same way for every call. Returns for
// every other outcome.
void Misbehave(SimOutcome outcome, const std::string& what, int frame_fd) {
  switch (outcome) {
    case SimOutcome::kHang:
    case SimOutcome::kHangVoltage:
      Hang();
    case SimOutcome::kCrash:
    case SimOutcome::kCrashVoltage:
      WriteText(STDERR_FILENO, "sim: crash planned in " + what + "\n");
      Crash();
    case SimOutcome::kExit:
      WriteText(STDERR_FILENO, "sim: exit planned in " + what + "\n");
      _exit(kExitStatus);
    case SimOutcome::kGarbage:
      WriteText(frame_fd, "this is not a frame at all");
      Hang();
    case SimOutcome::kOk:
    case SimOutcome::kNotRun:
    case SimOutcome::kFaulty:
    case SimOutcome::kVoltage:
    case SimOutcome::kSlow:
    case SimOutcome::kSpew:
    case SimOutcome::kFail:
      break;
  }
}

class SimDevice : public Device {
 public:
  SimDevice(const SimPlan& plan, std::int32_t device, std::chrono::milliseconds op_time,
            int frame_fd)
      : plan_(plan), device_(device), op_time_(op_time), frame_fd_(frame_fd) {}

  OpReport RunAic(Progress* progress) override { return Run(SimCall::kAic, "aic", progress); }

  base::Result<std::string> PrepareP2p(const P2pGroup& group) override {
    const SimOutcome outcome = plan_.For(device_, SimCall::kPrepare);
    Misbehave(outcome, "prepare", frame_fd_);
    if (outcome == SimOutcome::kFail)
      return base::UnavailableError("sim: preparation fails by plan");
    return BlobOf(group.members[static_cast<std::size_t>(group.self)]);
  }

  OpReport RunP2p(const P2pGroup& group, const std::vector<std::string>& blobs,
                  Progress* progress) override {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (i >= blobs.size() || blobs[i] != BlobOf(group.members[i])) {
        return {core::OutcomeCode::kNotRun, "sim: rank " + std::to_string(group.members[i].rank) +
                                                " supplied no connection data, or wrong data"};
      }
    }
    return Run(SimCall::kP2p, "p2p over " + std::to_string(group.members.size()) + " devices",
               progress);
  }

 private:
  OpReport Run(SimCall call, const std::string& what, Progress* progress) {
    const SimOutcome outcome = plan_.For(device_, call);
    auto time = op_time_;
    if (outcome == SimOutcome::kSlow) time *= kSlowFactor;
    for (int step = 0; step < kSteps; ++step) {
      progress->Report(100 * step / kSteps, "sim: " + what);
      std::this_thread::sleep_for(time / kSteps);
      // In the middle: after the op was reported as started and before it ends.
      if (step == kSteps / 2) Misbehave(outcome, what, frame_fd_);
    }
    if (outcome == SimOutcome::kSpew) Spew();
    switch (outcome) {
      case SimOutcome::kNotRun:
        return {core::OutcomeCode::kNotRun, "sim: " + what + " could not run by plan"};
      case SimOutcome::kFail:
        return {core::OutcomeCode::kNotRun, "sim: " + what + " fails by plan"};
      case SimOutcome::kFaulty:
        return {core::OutcomeCode::kFaulty, "sim: " + what + " found a fault by plan"};
      case SimOutcome::kVoltage:
        return {core::OutcomeCode::kVoltageNotRestored,
                "sim: " + what + " left the voltage changed by plan"};
      default:
        return {core::OutcomeCode::kOk,
                "sim: " + what + ", " + std::to_string(time.count()) + " ms"};
    }
  }

  const SimPlan plan_;
  const std::int32_t device_;
  const std::chrono::milliseconds op_time_;
  const int frame_fd_;
};

class SimDriver : public Driver {
 public:
  SimDriver(std::int32_t devices, std::chrono::milliseconds op_time, SimPlan plan, int frame_fd)
      : devices_(devices), op_time_(op_time), plan_(std::move(plan)), frame_fd_(frame_fd) {}

  std::string name() const override { return "sim"; }

  base::Result<std::vector<ListedDevice>> Inventory() override {
    std::vector<ListedDevice> devices;
    devices.reserve(static_cast<std::size_t>(devices_));
    for (std::int32_t i = 0; i < devices_; ++i) {
      devices.push_back({i, "sim", "simulated, no hardware"});
    }
    return devices;
  }

  base::Result<std::unique_ptr<Device>> Open(std::int32_t device) override {
    if (device < 0 || device >= devices_) {
      return base::NotFoundError("there is no device " + std::to_string(device) +
                                 "; --sim-devices=" + std::to_string(devices_) + " has 0 to " +
                                 std::to_string(devices_ - 1));
    }
    const SimOutcome outcome = plan_.For(device, SimCall::kOpen);
    Misbehave(outcome, "open", frame_fd_);
    if (outcome == SimOutcome::kFail) return base::UnavailableError("sim: opening fails by plan");
    return std::unique_ptr<Device>(std::make_unique<SimDevice>(plan_, device, op_time_, frame_fd_));
  }

  VoltageReport MakeSafe(std::int32_t device) override {
    const SimOutcome outcome = plan_.For(device, SimCall::kSafe);
    Misbehave(outcome, "safe", frame_fd_);
    if (outcome == SimOutcome::kFail) return {true, "sim: the voltage cannot be read by plan"};
    if (plan_.LeavesVoltageChanged(device)) return {true, "sim: the voltage stays changed by plan"};
    return {false, "sim: the voltage is unchanged"};
  }

 private:
  const std::int32_t devices_;
  const std::chrono::milliseconds op_time_;
  const SimPlan plan_;
  const int frame_fd_;
};

base::Result<std::unique_ptr<Driver>> Make(const Options& options) {
  const auto devices = static_cast<std::int32_t>(options.Number(kDevices));
  base::Result<SimPlan> plan = SimPlan::Parse(options.Text(kPlan), devices);
  if (!plan.ok()) return plan.status();
  return std::unique_ptr<Driver>(
      std::make_unique<SimDriver>(devices, std::chrono::milliseconds(options.Number(kOpTime)),
                                  *std::move(plan), options.frame_fd));
}

}  // namespace

constinit const DriverEntry kSimEntry{"sim", kOptions, {}, Make};

}  // namespace assay::driver::sim
