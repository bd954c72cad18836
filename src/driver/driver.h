// The interface between a worker process and the hardware. Only worker processes call a driver
// (docs/design.md, decision 8): its calls may block, hang or end the process, and none can be
// cancelled; the agent kills the process instead.
//
//   auto driver = driver::Make(options);
//   auto device = (*driver)->Open(3);
//   driver::OpReport report = (*device)->RunAic(&progress);
//
// The interface has this shape for a future Ascend driver, which needs: one device and one test per
// process; a p2p test over all ready ranks of the node at once, whose communicator is created from
// bytes that rank 0 publishes (PrepareP2p); a voltage that may stay changed when a test is killed,
// and that another process restores without opening the device (MakeSafe).
//
// Thread safety: none. The worker's main thread makes every call. A driver may use threads within a
// call, but none may outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "core/op.h"
#include "driver/options.h"

namespace assay::driver {

struct ListedDevice {
  std::int32_t device = 0;  // physical id, as in rank tables
  std::string kind;         // host, sim, ...
  std::string detail;       // for people
  bool operator==(const ListedDevice&) const = default;
};

struct GroupMember {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  bool operator==(const GroupMember&) const = default;
};

// The ready ranks of a run on this node. Every member receives the same list.
struct P2pGroup {
  std::vector<GroupMember> members;
  std::int32_t self = 0;  // this worker's index in `members`
  bool operator==(const P2pGroup&) const = default;
};

// The outcome of an op. The detail describes what was done or found. A driver returns kFaulty only
// if it has shown a hardware fault, and kNotRun always with the reason.
struct OpReport {
  core::OutcomeCode code = core::OutcomeCode::kOk;
  std::string detail;
};

struct VoltageReport {
  bool changed = false;  // it differs from before the test, or could not be determined
  std::string detail;
};

// Receives the progress of a running op. A few calls per second are enough; the worker drops calls
// that come faster.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Report(std::int32_t percent, std::string_view text) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual OpReport RunAic(Progress* progress) = 0;

  // Called on every member before RunP2p. Returns the data that the peers need to connect to this
  // member (opaque bytes, at most 64 KiB, may be empty). The resources it sets up live until RunP2p
  // has returned or the process ends.
  virtual base::Result<std::string> PrepareP2p(const P2pGroup& group) = 0;

  // `blobs[i]` is the result of PrepareP2p on members[i].
  // REQUIRES: PrepareP2p with the same group succeeded.
  virtual OpReport RunP2p(const P2pGroup& group, const std::vector<std::string>& blobs,
                          Progress* progress) = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string name() const = 0;
  virtual base::Result<std::vector<ListedDevice>> Inventory() = 0;

  // At most one device per process.
  virtual base::Result<std::unique_ptr<Device>> Open(std::int32_t device) = 0;

  // Reads the device's voltage and restores it if the driver can. Must also work in a process that
  // has not opened the device, because the process that had may be dead.
  virtual VoltageReport MakeSafe(std::int32_t device) = 0;
};

// Creates the driver that `options` names (driver_table.h). An error names the wrong option and the
// allowed values. Opens no device, so it is cheap enough for checking flags.
base::Result<std::unique_ptr<Driver>> Make(const Options& options);

}  // namespace assay::driver
