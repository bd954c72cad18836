#include "cli/flags/size.h"

#include <catch2/catch.hpp>

using namespace assay::cli::flags;

TEST_CASE("sizes are read with their unit and written back") {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"0", 0},          {"1000", 1000},
      {"1KiB", 1024},    {"1536KiB", 1536 * 1024},
      {"1MiB", 1 << 20}, {"3GiB", std::int64_t{3} << 30}};
  for (const auto& [text, bytes] : sizes) {
    INFO(text);
    const auto read = ParseSize(text);
    REQUIRE(read.ok());
    CHECK(*read == bytes);
    CHECK(SizeText(bytes) == text);
  }
  CHECK(*ParseSize("1024KiB") == 1 << 20);
}

TEST_CASE("an invalid size is an error that quotes the text") {
  for (const char* wrong : {"", "x", "MiB", "-1", "-1KiB", "1.5MiB", "1MB", "1 MiB", "1mib",
                            "99999999999999999999", "9000000000GiB", "1KiBx"}) {
    INFO(wrong);
    const auto read = ParseSize(wrong);
    REQUIRE_FALSE(read.ok());
    CHECK(read.status().text().find("KiB") != std::string::npos);
  }
}
