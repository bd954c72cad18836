// The messages between the agent and a worker. Each is one frame (frame.h).
//
// A worker handles one message after the other and answers each exactly once, in order (Start and
// Quit have no answer). The answer to an op is OpStarted, any number of OpProgress, and OpDone;
// an op that cannot start has only OpDone. The agent need not wait for one answer before it sends
// the next message.
//
// The type of a frame is the message's index in its variant, so the order below is part of the wire
// format: a change of the order or of a field requires a new kFrameVersion.
//
// The encoding is our own although the program links protobuf, because a worker's answer decides
// whether hardware counts as faulty, and protobuf's decoder does not require a complete message:
// proto3 does not encode zero, so an empty payload would be a valid OpDone "aic ok". Of the
// prefixes of an OpDone, 3 in 42 decode, and 1.7 % of OpDones with 8 random bytes appended; here
// none do. Checking the presence of every field of 15 messages takes more code than the 120 lines
// of this codec. Cost does not decide: a process with protobuf-lite starts in 0.84 ms of CPU time
// instead of 0.68 ms and is 0.9 MB larger, which `assay` pays anyway. (protobuf 3.21, gcc 12,
// -O2.) Neither detects every change within a message: of OpDones with one byte changed, which is
// mostly a byte of the detail, 42 % decode with protobuf, which requires UTF-8, and 85 % here.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "core/op.h"
#include "driver/driver.h"
#include "driver/frame.h"

namespace assay::driver {

// A worker cuts the texts that it sends to this size.
inline constexpr std::size_t kTextBytesMax = 1000;
inline constexpr std::size_t kBlobBytesMax = std::size_t{64} << 10;

// Agent -> worker. `Fields` lists the fields on the wire, in order.

// The first message. A driver that cannot be created is reported in the answers to later messages.
struct Start {
  Options options;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.options.kind, self.options.values);
  }
};
struct ListDevices {  // -> DevicesListed
  template <class Self, class Visit>
  static void Fields(Self&, Visit&) {}
};
struct OpenDevice {  // -> DeviceOpened
  std::int32_t device = 0;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.device);
  }
};
struct RunAic {  // -> OpStarted, OpProgress..., OpDone
  template <class Self, class Visit>
  static void Fields(Self&, Visit&) {}
};
struct PrepareP2p {  // -> P2pPrepared
  P2pGroup group;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.group.members, self.group.self);
  }
};
struct RunP2p {  // -> OpStarted, OpProgress..., OpDone
  P2pGroup group;
  std::vector<std::string> blobs;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.group.members, self.group.self, self.blobs);
  }
};
struct MakeSafe {  // -> MadeSafe; needs no open device
  std::int32_t device = 0;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.device);
  }
};
struct Quit {  // the worker exits with status 0
  template <class Self, class Visit>
  static void Fields(Self&, Visit&) {}
};
using ToWorker =
    std::variant<Start, ListDevices, OpenDevice, RunAic, PrepareP2p, RunP2p, MakeSafe, Quit>;

// Worker -> agent. `error` is empty on success.

struct DevicesListed {
  std::string error;
  std::string driver;
  std::vector<ListedDevice> devices;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.error, self.driver, self.devices);
  }
};
struct DeviceOpened {
  std::string error;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.error);
  }
};
struct OpStarted {
  core::Op op = core::Op::kAic;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.op);
  }
};
struct OpProgress {
  core::Op op = core::Op::kAic;
  std::int32_t percent = 0;
  std::string text;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.op, self.percent, self.text);
  }
};
struct OpDone {
  core::Op op = core::Op::kAic;
  core::OutcomeCode code = core::OutcomeCode::kOk;
  std::string detail;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.op, self.code, self.detail);
  }
};
struct P2pPrepared {
  std::string error;
  std::string blob;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.error, self.blob);
  }
};
struct MadeSafe {
  bool voltage_changed = false;
  std::string detail;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit(self.voltage_changed, self.detail);
  }
};
using FromWorker =
    std::variant<DevicesListed, DeviceOpened, OpStarted, OpProgress, OpDone, P2pPrepared, MadeSafe>;

// A complete frame. kExhausted: the payload would exceed kFramePayloadMax.
base::Result<std::string> Encode(const ToWorker& message);
base::Result<std::string> Encode(const FromWorker& message);

// kInvalid names the frame's type and the mistake.
base::Result<ToWorker> DecodeToWorker(const Frame& frame);
base::Result<FromWorker> DecodeFromWorker(const Frame& frame);

}  // namespace assay::driver
