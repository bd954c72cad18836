// RFC 4122 texts ("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"), version 4. They tell apart, they are no
// secrets.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

std::string RandomUuid();

// One for each number: the same number gives the same text, two numbers never do, and another
// object gives others. Thread safety: const use from any thread.
class UuidSeries {
 public:
  UuidSeries();
  // REQUIRES: number < 2^62.
  std::string Text(std::uint64_t number) const;

 private:
  std::uint64_t high_;
  std::uint64_t low_;
};

}  // namespace assay
