// What a worker process asks of the hardware. A driver is only ever called in a worker process
// (docs/design.md, decision 8): its calls may block, hang or end the process, and none can be
// cancelled; who waits for them ends the process instead.
//
//   auto driver = driver::Make(options);
//   auto device = (*driver)->Open(3);
//   driver::OpReport report = (*device)->RunAic(&progress);
//
// What the later Ascend driver needs of this shape: one device and one test per process; a p2p test
// over all ready ranks of the node at once, whose communicator is made from bytes that rank 0
// publishes (PrepareP2p); a voltage that may stay changed when a test is killed and is put right by
// another process that never opens the device (MakeSafe).
//
// Thread safety: none. The worker's main thread makes every call; a driver may use threads inside
// of a call, and leaves none behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "core/op.h"

namespace assay::driver {

// Which driver and how. Comes from the agent's flags and goes to each worker as it is.
struct Options {
  std::string kind = "auto";  // auto, host, sim

  // host: the machine's CPU and memory.
  std::int32_t host_devices = 0;  // 1..64; 0: one per core, at least 2 and at most 8
  std::int32_t host_op_ms = 2000;
  std::string host_level;  // instruction-set level, e.g. x86-64-v2; "": the best this CPU has
  std::string host_fault;  // for tests: DEVICE:OP=KIND@ROUND, see host/fault.h; "": none

  // sim: no hardware, a plan of outcomes.
  std::int32_t sim_devices = 8;
  std::int32_t sim_op_ms = 200;
  std::string sim_plan;  // DEVICE:CALL=OUTCOME,... see sim/sim_plan.h

  // Not a setting: the descriptor of the worker's frame pipe, on which the sim driver writes the
  // garbage that a plan asks for. Set by the worker; -1 elsewhere.
  std::int32_t frame_fd = -1;
};

struct DeviceInfo {
  std::int32_t device = 0;  // physical id, as rank tables name it
  std::string kind;         // host, sim, ...
  std::string detail;       // for people
  bool operator==(const DeviceInfo&) const = default;
};

struct P2pMember {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  bool operator==(const P2pMember&) const = default;
};

// The ready ranks of a run on this node: every member gets the same list.
struct P2pGroup {
  std::vector<P2pMember> members;
  std::int32_t self = 0;  // this worker's place in `members`
  bool operator==(const P2pGroup&) const = default;
};

// The outcome of an op. The detail says what was achieved or what was found; kFaulty only where the
// hardware was shown to be wrong, kNotRun always with the reason.
struct OpReport {
  OutcomeCode code = OutcomeCode::kOk;
  std::string detail;
};

struct VoltageReport {
  bool changed = false;  // it is not what it was before the test, or that could not be found out
  std::string detail;
};

// How far an op is. Called at most some times per second is enough; more is thinned out.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Report(std::int32_t percent, std::string_view text) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual OpReport RunAic(Progress* progress) = 0;

  // Before RunP2p, on every member: returns what the peers need of this one (opaque bytes, at most
  // 64 KiB, empty where there is nothing to tell). What it set up lives until RunP2p has returned
  // or the process ends.
  virtual Result<std::string> PrepareP2p(const P2pGroup& group) = 0;

  // `blobs[i]` is what members[i] returned. REQUIRES: PrepareP2p with the same group was ok.
  virtual OpReport RunP2p(const P2pGroup& group, const std::vector<std::string>& blobs,
                          Progress* progress) = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string name() const = 0;
  virtual Result<std::vector<DeviceInfo>> Inventory() = 0;

  // At most one device per process.
  virtual Result<std::unique_ptr<Device>> Open(std::int32_t device) = 0;

  // Reads the device's voltage and restores it where the driver can. Also in a process that has not
  // opened the device: the one that had may be dead.
  virtual VoltageReport MakeSafe(std::int32_t device) = 0;
};

// The driver that `options` names; an error tells which option is wrong and what is allowed. Opens
// no device: cheap enough to check flags with.
Result<std::unique_ptr<Driver>> Make(const Options& options);

}  // namespace assay::driver
