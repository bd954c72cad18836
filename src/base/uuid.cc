#include "base/uuid.h"

#include <random>

namespace assay::base {
namespace {

constexpr std::uint64_t kFree = (std::uint64_t{1} << 62) - 1;  // bits of the low half

std::uint64_t Random() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

std::string Format(std::uint64_t high, std::uint64_t low) {
  high = (high & ~std::uint64_t{0xF000}) | 0x4000;  // version 4
  low = (low & kFree) | std::uint64_t{2} << 62;     // the variant of RFC 4122
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text += '-';
    const std::uint64_t half = digit < 16 ? high : low;
    text += kDigits[half >> (60 - 4 * (digit % 16)) & 0xF];
  }
  return text;
}

}  // namespace

std::string RandomUuid() { return Format(Random(), Random()); }

UuidSeries::UuidSeries() : high_(Random()), low_(Random()) {}

std::string UuidSeries::Text(std::uint64_t number) const {
  // Multiplication by an odd factor is invertible modulo 2^62, and so is xor: no two numbers
  // collide.
  return Format(high_, (number * 0x9E3779B97F4A7C15u) ^ low_);
}

}  // namespace assay::base
