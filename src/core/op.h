// The operations of a stress test and their outcomes.
//
// The numbers are ClusterD's wire values: op 0 is AIC and op 1 is P2P; codes "0" to "4"
// (mind-cluster, clusterd/pkg/common/constant/const.go). The names are those of the CLI and the
// database.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace assay::core {

enum class Op : std::uint8_t { kAic = 0, kP2p = 1 };
inline constexpr Op kAllOps[] = {Op::kAic, Op::kP2p};
inline constexpr std::size_t kOps = std::size(kAllOps);

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

// A set of ops, in ascending order. A rank runs its ops in this order, each at most once.
//
//   for (const Op op : rank.ops - rank.answered) ...
class OpSet {
 public:
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Op;

    constexpr Iterator() = default;
    constexpr explicit Iterator(std::uint8_t bits) : bits_(bits) {}
    constexpr Op operator*() const { return static_cast<Op>(std::countr_zero(bits_)); }
    constexpr Iterator& operator++() {
      bits_ = static_cast<std::uint8_t>(bits_ & (bits_ - 1));
      return *this;
    }
    constexpr Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::uint8_t bits_ = 0;  // the ops that are still to come
  };

  constexpr OpSet() = default;
  // Bits that are not an op's are dropped.
  constexpr explicit OpSet(std::uint8_t bits) : bits_(bits & kAllBits) {}
  static constexpr OpSet All() { return OpSet(kAllBits); }
  constexpr void Add(Op op) { bits_ = static_cast<std::uint8_t>(bits_ | Bit(op)); }
  constexpr bool Has(Op op) const { return (bits_ & Bit(op)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr std::uint8_t bits() const { return bits_; }
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(); }
  // The op that a rank runs first or last. REQUIRES: not empty.
  constexpr Op first() const { return *begin(); }
  constexpr Op last() const { return static_cast<Op>(std::bit_width(bits_) - 1); }
  constexpr bool operator==(const OpSet&) const = default;
  friend constexpr OpSet operator|(OpSet a, OpSet b) {
    return OpSet(static_cast<std::uint8_t>(a.bits_ | b.bits_));
  }
  // The ops of `a` that are not in `b`.
  friend constexpr OpSet operator-(OpSet a, OpSet b) {
    return OpSet(static_cast<std::uint8_t>(a.bits_ & ~b.bits_));
  }

 private:
  static constexpr std::uint8_t kAllBits = (1U << kOps) - 1;
  static constexpr std::uint8_t Bit(Op op) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(op));
  }
  std::uint8_t bits_ = 0;
};

// A value for each op. Iteration gives the values in the order of the ops.
template <class T>
class PerOp {
 public:
  constexpr T& operator[](Op op) { return values_[static_cast<std::size_t>(op)]; }
  constexpr const T& operator[](Op op) const { return values_[static_cast<std::size_t>(op)]; }
  constexpr auto begin() { return values_.begin(); }
  constexpr auto end() { return values_.end(); }
  constexpr auto begin() const { return values_.begin(); }
  constexpr auto end() const { return values_.end(); }
  constexpr bool operator==(const PerOp&) const = default;

 private:
  std::array<T, kOps> values_{};
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
