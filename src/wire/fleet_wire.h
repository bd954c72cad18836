// core/link.h's messages as fleet.proto and back.
//
// ToWire always gives a message the other side takes: texts are cut to their limit, what is not
// UTF-8 is replaced. FromWire takes any message whatsoever and either gives a value in which every
// number is in its range and every string is UTF-8 of bounded length, or a kInvalid that names the
// field (`Outcomes.outcomes[3].op: 7 is not an op`). Control characters are refused in names and
// made visible in texts for people.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "core/fleet_message.h"

namespace assay {

namespace fleet {  // fleet.pb.h
class AgentMessage;
class CoordinatorMessage;
}  // namespace fleet

inline constexpr std::size_t kWireNameMax = 256;   // bytes: node, host name, FQDN
inline constexpr std::size_t kWireLabelMax = 64;   // identity, version, address, driver, kind
inline constexpr std::size_t kWireJobMax = 256;    // job id
inline constexpr std::size_t kWireTextMax = 1024;  // details and progress, for people
inline constexpr int kWireAddressesMax = 256;
inline constexpr int kWireDevicesMax = 1024;
inline constexpr int kWireListMax =
    1 << 18;  // ranks, outcomes, keys: two ops of 65,536 ranks and more
inline constexpr Ms kWireSpanMax = Ms{10} * 366 * 24 * 3600 * 1000;  // ages and deadlines

fleet::AgentMessage ToWire(const AgentMessage& message);
fleet::CoordinatorMessage ToWire(const CoordinatorMessage& message);

// No value: a heartbeat, which is for the link alone.
Result<std::optional<AgentMessage>> FromWire(const fleet::AgentMessage& message);
Result<CoordinatorMessage> FromWire(const fleet::CoordinatorMessage& message);

}  // namespace assay
