#include "driver/host/host_driver.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/text.h"
#include "driver/host/copies.h"
#include "driver/host/cpu.h"
#include "driver/host/fault.h"
#include "driver/host/kernel.h"
#include "driver/host/products.h"

namespace assay::driver::host {
namespace {

constexpr OptionSpec kOptions[] = {
    {"host-devices", OptionSpec::Type::kNumber, 0, 64, 0, "",
     "host: number of devices of this machine; 0: one per core, at least 2, at most 8"},
    {"host-seconds", OptionSpec::Type::kSeconds, 1, 3'600'000, 2000, "",
     "host: duration of each op"},
    // Instruction-set level, e.g. x86-64-v2; empty: this CPU's best.
    {"host-level"},
    // DEVICE:OP=KIND@ROUND, see fault.h; empty: none.
    {"host-fault"},
};
constexpr const OptionSpec& kDevices = kOptions[0];
constexpr const OptionSpec& kOpTime = kOptions[1];
constexpr const OptionSpec& kLevel = kOptions[2];
constexpr const OptionSpec& kFault = kOptions[3];

constexpr std::size_t kDevicesMin = 2;  // a p2p test needs two
constexpr std::size_t kDevicesMax = 8;  // as many as accelerator nodes usually have

class HostDevice : public Device {
 public:
  HostDevice(std::vector<int> cores, const Kernel* kernel, std::chrono::milliseconds duration,
             Fault fault)
      : cores_(std::move(cores)), kernel_(kernel), duration_(duration), fault_(fault) {}

  OpReport RunAic(Progress* progress) override {
    return RunProducts({cores_, kernel_, duration_, FaultOf(core::Op::kAic)}, progress);
  }

  base::Result<std::string> PrepareP2p(const P2pGroup& group) override {
    base::Result<std::unique_ptr<Copies>> copies =
        Copies::Prepare({cores_, duration_, FaultOf(core::Op::kP2p)}, group);
    if (!copies.ok()) return copies.status();
    copies_ = *std::move(copies);
    return copies_->blob();
  }

  OpReport RunP2p(const P2pGroup&, const std::vector<std::string>& blobs,
                  Progress* progress) override {
    const std::unique_ptr<Copies> copies = std::move(copies_);
    return copies->Run(blobs, progress);
  }

 private:
  Fault FaultOf(core::Op op) const { return fault_.op == op ? fault_ : Fault(); }

  const std::vector<int> cores_;
  const Kernel* const kernel_;
  const std::chrono::milliseconds duration_;
  const Fault fault_;
  std::unique_ptr<Copies> copies_;
};

class HostDriver : public Driver {
 public:
  HostDriver(std::chrono::milliseconds duration, const Kernel* kernel,
             std::vector<std::vector<int>> sets, Fault fault)
      : kernel_(kernel), duration_(duration), sets_(std::move(sets)), fault_(fault) {}

  std::string name() const override { return "host"; }

  base::Result<std::vector<ListedDevice>> Inventory() override {
    const std::string cpu = CpuName();
    std::vector<ListedDevice> devices;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      std::string detail = "core " + CoresText(sets_[i]) + ", " + kernel_->level;
      if (!cpu.empty()) detail += ", " + cpu;
      devices.push_back({static_cast<std::int32_t>(i), "cpu", base::Printable(detail, 200)});
    }
    return devices;
  }

  base::Result<std::unique_ptr<Device>> Open(std::int32_t device) override {
    if (device < 0 || static_cast<std::size_t>(device) >= sets_.size()) {
      return base::NotFoundError("there is no device " + std::to_string(device) +
                                 "; the host driver has 0 to " + std::to_string(sets_.size() - 1) +
                                 " (--host-devices)");
    }
    return std::unique_ptr<Device>(
        std::make_unique<HostDevice>(sets_[static_cast<std::size_t>(device)], kernel_, duration_,
                                     fault_.device == device ? fault_ : Fault()));
  }

  VoltageReport MakeSafe(std::int32_t) override {
    return {false, "the host has no voltage to restore"};
  }

 private:
  const Kernel* const kernel_;
  const std::chrono::milliseconds duration_;
  const std::vector<std::vector<int>> sets_;
  const Fault fault_;
};

std::string RunnableLevels() {
  std::string out;
  for (const Kernel* const* at = kKernels; *at != nullptr; ++at) {
    if (!CanRun(**at)) continue;
    if (!out.empty()) out += ", ";
    out += (*at)->level;
  }
  return out.empty() ? "none" : out;
}

base::Result<std::unique_ptr<Driver>> Make(const Options& options) {
  base::Result<Fault> fault = ParseFault(options.Text(kFault));
  if (!fault.ok()) return fault.status();
  const std::string level = options.Text(kLevel);
  const Kernel* kernel = FindKernel(level.c_str());
  if (kernel == nullptr) {
    return base::UnsupportedError("host driver: this CPU cannot run instruction-set level '" +
                                  base::Printable(level, 40) + "'; it can: " + RunnableLevels());
  }
  base::Result<std::vector<int>> cores = AllowedCores();
  if (!cores.ok()) return cores.status();
  auto count = static_cast<std::size_t>(options.Number(kDevices));
  if (count == 0) count = std::clamp(cores->size(), kDevicesMin, kDevicesMax);
  return std::unique_ptr<Driver>(
      std::make_unique<HostDriver>(std::chrono::milliseconds(options.Number(kOpTime)), kernel,
                                   SplitCores(*cores, static_cast<std::int32_t>(count)), *fault));
}

}  // namespace

constinit const DriverEntry kHostEntry{"host", kOptions, {}, Make};

}  // namespace assay::driver::host
