#include "base/memory.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

using namespace assay::base;
using namespace std::chrono_literals;

TEST_CASE("memory is returned once after a quiet period") {
  MemoryTrimmer trimmer;
  const auto start = MemoryTrimmer::Clock::now();
  trimmer.Worked(start);
  CHECK_FALSE(trimmer.Due(start + 1s));
  CHECK(trimmer.pending());
  CHECK(trimmer.Due(start + 2s));
  CHECK_FALSE(trimmer.pending());
  CHECK_FALSE(trimmer.Due(start + 3s));
  CHECK_FALSE(trimmer.Due(start + 1h));
  trimmer.Worked(start + 1h);
  CHECK_FALSE(trimmer.Due(start + 1h + 1s));
  CHECK(trimmer.Due(start + 1h + 2s));
}

TEST_CASE("memory is returned periodically under continuous work, and once after it ends") {
  MemoryTrimmer trimmer;
  const auto start = MemoryTrimmer::Clock::now();
  int times = 0;
  auto now = start;
  for (; now < start + 100s; now += 500ms) {
    trimmer.Worked(now);
    if (trimmer.Due(now)) ++times;
    CHECK(trimmer.pending());
  }
  CHECK(times == 3);
  CHECK(trimmer.Due(now + 2s));
  CHECK_FALSE(trimmer.pending());
}

TEST_CASE("returning memory does not affect memory in use") {
  std::vector<std::unique_ptr<std::string>> kept;
  {
    std::vector<std::unique_ptr<std::string>> made;
    for (int i = 0; i < 10'000; ++i) {
      made.push_back(std::make_unique<std::string>(500, static_cast<char>('a' + i % 26)));
    }
    for (std::size_t i = 0; i < made.size(); i += 100) kept.push_back(std::move(made[i]));
  }
  ReturnFreedMemory();
  ReturnFreedMemory();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(*kept[i] == std::string(500, static_cast<char>('a' + i * 100 % 26)));
  }
}
