// The operations of a stress test and their outcomes.
//
// The numbers are ClusterD's wire values: op 0 is AIC and op 1 is P2P; codes "0" to "4"
// (mind-cluster, clusterd/pkg/common/constant/const.go). The names are those of the CLI and the
// database.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::core {

enum class Op : std::uint8_t { kAic = 0, kP2p = 1 };
inline constexpr Op kAllOps[] = {Op::kAic, Op::kP2p};

constexpr std::string_view Name(Op op) { return op == Op::kAic ? "aic" : "p2p"; }
constexpr std::optional<Op> OpFromWire(std::int64_t value) {
  if (value == 0) return Op::kAic;
  if (value == 1) return Op::kP2p;
  return std::nullopt;
}
constexpr std::optional<Op> OpFromName(std::string_view name) {
  for (Op op : kAllOps) {
    if (name == Name(op)) return op;
  }
  return std::nullopt;
}

// The ops of a rank. A rank runs them in ascending order, each at most once.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr explicit OpSet(std::uint8_t bits) : bits_(bits & 3) {}
  constexpr void Add(Op op) { bits_ = static_cast<std::uint8_t>(bits_ | Bit(op)); }
  constexpr bool Has(Op op) const { return (bits_ & Bit(op)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return (bits_ & 1) + (bits_ >> 1); }
  constexpr std::uint8_t bits() const { return bits_; }
  constexpr bool operator==(const OpSet&) const = default;

 private:
  static constexpr std::uint8_t Bit(Op op) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(op));
  }
  std::uint8_t bits_ = 0;
};

enum class OutcomeCode : std::uint8_t {
  kOk = 0,
  kNotRun = 1,              // could not run, see the detail; never a verdict on the hardware
  kFaulty = 2,              // the test found a hardware fault
  kTimeout = 3,             // no answer before the deadline
  kVoltageNotRestored = 4,  // the chip was left at a changed voltage
};
inline constexpr int kOutcomeCodes = 5;

constexpr std::string_view Name(OutcomeCode code) {
  constexpr std::string_view kNames[] = {"ok", "not_run", "faulty", "timeout",
                                         "voltage_not_restored"};
  return kNames[static_cast<int>(code)];
}
constexpr std::optional<OutcomeCode> OutcomeCodeFromInt(std::int64_t value) {
  if (value < 0 || value >= kOutcomeCodes) return std::nullopt;
  return static_cast<OutcomeCode>(value);
}

}  // namespace assay::core
