#include "cli/flags/nearest.h"

#include <catch2/catch.hpp>

using namespace assay::cli::flags;

TEST_CASE("the nearest word is found, but not a distant one") {
  const std::vector<std::string> flags = {"--listen", "--insecure", "--db", "--port-file"};
  CHECK(Nearest("--lisen", flags) == "--listen");
  CHECK(Nearest("--lsiten", flags) == "--listen");
  CHECK(Nearest("--insecur", flags) == "--insecure");
  CHECK(Nearest("--portfile", flags) == "--port-file");
  CHECK_FALSE(Nearest("--verbose", flags).has_value());
  CHECK_FALSE(Nearest("", flags).has_value());
  CHECK_FALSE(Nearest(std::string(100'000, 'x'), flags).has_value());
}
