// Version 4 UUIDs in the text form of RFC 4122 ("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"). They are
// unique, not secret.
#pragma once

#include <cstdint>
#include <string>

namespace assay::base {

std::string RandomUuid();

// One UUID for each number: the same number always gives the same text, two numbers never give the
// same text, and another object gives other texts. Thread safety: const use from any thread.
class UuidSeries {
 public:
  UuidSeries();
  // REQUIRES: number < 2^62.
  std::string Text(std::uint64_t number) const;

 private:
  std::uint64_t high_;
  std::uint64_t low_;
};

}  // namespace assay::base
