// Fuzz target: reads arbitrary bytes as a rank table and checks the invariants of the reading and
// of the JSON that job signals make from it. Built for libFuzzer with -Dfuzz=true (clang), and
// always with replay.cc, which feeds it the fixtures and random mutations.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rank_table/rank_table.h"
#include "tests/rank_table/hccl_json_invariants.h"
#include "tests/rank_table/invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const assay::rank_table::TableReading reading = assay::rank_table::ReadRankTable(text, "fuzz");
  std::string broken = assay::rank_table::BrokenInvariant(reading);
  if (broken.empty()) broken = assay::rank_table::BrokenHcclJson(text, reading);
  if (!broken.empty()) {
    std::fprintf(stderr, "broken: %s\n%s\n", broken.c_str(), reading.error.c_str());
    std::abort();
  }
  return 0;
}
