#include "cli/flags/duration.h"

#include <catch2/catch.hpp>

using namespace assay::cli::flags;

TEST_CASE("a duration is a number and its unit") {
  for (const auto& [text, ms] : {std::pair("200ms", 200),
                                 {"90s", 90'000},
                                 {"1.5s", 1500},
                                 {"5m", 300'000},
                                 {"2h", 7'200'000},
                                 {"0s", 0}}) {
    const auto read = ParseDuration(text);
    REQUIRE(read.ok());
    CHECK(*read == ms);
  }
}

TEST_CASE("an invalid duration is an error that shows how to write one") {
  for (const char* text : {"", "30", "-5s", "s", "5 s", "5d", "1e9s", "nan s", "inf",
                           "99999999999h", "5s5", "\x1b[31m5s"}) {
    const auto read = ParseDuration(text);
    REQUIRE_FALSE(read.ok());
    CHECK(read.status().text().find("like 200ms") != std::string::npos);
    CHECK(read.status().text().find('\x1b') == std::string::npos);
  }
}

TEST_CASE("the text of a duration parses back to the same duration") {
  for (const std::int64_t ms : {0, 1, 999, 1000, 1500, 86'400'000}) {
    CHECK(*ParseDuration(DurationText(ms)) == ms);
  }
}
