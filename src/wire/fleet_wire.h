// Converts the messages of core/fleet_message.h to fleet.proto and back.
//
// ToWire always returns a message that the other side accepts: it cuts texts to their limits and
// makes bytes that are not UTF-8 printable. FromWire accepts any message: it returns either a value
// in which every number is in its range and every string is UTF-8 of bounded length, or a kInvalid
// that names the field (`Outcomes.outcomes[3].op: 7 is not an op`). It refuses control characters
// in names and makes them visible in texts for people.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "core/fleet_message.h"

namespace assay::fleet {  // fleet.pb.h
class AgentMessage;
class CoordinatorMessage;
}  // namespace assay::fleet

namespace assay::wire {

inline constexpr std::size_t kWireNameMax = 256;   // bytes: node, host name, FQDN
inline constexpr std::size_t kWireLabelMax = 64;   // identity, version, address, driver, kind
inline constexpr std::size_t kWireJobMax = 256;    // job id
inline constexpr std::size_t kWireTextMax = 1024;  // details and progress, for people
inline constexpr int kWireAddressesMax = 256;
inline constexpr int kWireDevicesMax = 1024;
// Ranks, outcomes, keys: more than two ops of 65,536 ranks.
inline constexpr int kWireListMax = 1 << 18;
inline constexpr core::Ms kWireSpanMax =
    core::Ms{10} * 366 * 24 * 3600 * 1000;  // ages and deadlines

fleet::AgentMessage ToWire(const core::AgentMessage& message);
fleet::CoordinatorMessage ToWire(const core::CoordinatorMessage& message);

// No value: a heartbeat, which concerns only the link.
base::Result<std::optional<core::AgentMessage>> FromWire(const fleet::AgentMessage& message);
base::Result<core::CoordinatorMessage> FromWire(const fleet::CoordinatorMessage& message);

}  // namespace assay::wire
