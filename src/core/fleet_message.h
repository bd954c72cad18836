// The messages between agents and the coordinator, as the core uses them; wire/fleet_wire.h
// converts them to and from fleet.proto.
//
// A message can be lost with its stream, and can be repeated; all are idempotent by (run, rank,
// op). Ages are milliseconds before the message was sent: the clocks of two machines are never
// compared.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/model.h"

namespace assay::core {

inline constexpr std::uint32_t kFleetProtocol = 1;

// Agent -> coordinator.
struct HeldRun {
  RunId run = kNoRun;
  bool started = false;
  bool operator==(const HeldRun&) const = default;
};
// The first message on every stream. `held` lists every run of which the agent still has any state.
struct Hello {
  std::uint32_t protocol = kFleetProtocol;
  Node node;  // `attached` and `since` are not used
  std::vector<HeldRun> held;
};
// Each rank of the run on this node either has a worker that waits for Start, or its outcomes were
// sent before this message.
struct Ready {
  RunId run = kNoRun;
};
struct Progress {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  Op op = Op::kAic;
  bool started = false;
  std::int32_t percent = 0;
  std::string text;
};
struct OutcomeReport {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  Op op = Op::kAic;
  OutcomeCode code = OutcomeCode::kOk;
  std::string detail;
  Ms started_ago = -1;  // -1: never started
  Ms finished_ago = 0;
};
// The agent sends the last outcome of a rank only after the device is free: that outcome ends the
// lease.
struct Outcomes {
  std::vector<OutcomeReport> reports;
};
// The agent has no state of the run any more, and the run's devices on the node are safe.
struct Discarded {
  RunId run = kNoRun;
};
using AgentMessage = std::variant<Hello, Ready, Progress, Outcomes, Discarded>;

// Coordinator -> agent.
struct Welcome {
  Ms heartbeat = 0;
};
struct AssignedRank {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  OpSet ops;
  bool operator==(const AssignedRank&) const = default;
};
struct Assign {
  RunId run = kNoRun;
  std::string job;
  std::vector<AssignedRank> ranks;
  Ms aic_deadline = 0;
  Ms p2p_deadline = 0;
  Ms kill_grace = 0;
  bool operator==(const Assign&) const = default;
};
struct Start {
  RunId run = kNoRun;
};
struct Cancel {
  RunId run = kNoRun;
};
struct Discard {
  RunId run = kNoRun;
};
struct OutcomeKey {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  Op op = Op::kAic;
  auto operator<=>(const OutcomeKey&) const = default;
};
struct Ack {
  std::vector<OutcomeKey> keys;
};
using CoordinatorMessage = std::variant<Welcome, Assign, Start, Cancel, Discard, Ack>;

}  // namespace assay::core
