#include "cli/address.h"

#include <catch2/catch.hpp>

using namespace assay::cli;

TEST_CASE("an address without a port gets the default port") {
  CHECK(CoordinatorAddress("head") == "head:8899");
  CHECK(CoordinatorAddress("[::1]") == "[::1]:8899");
  CHECK(CoordinatorAddress("[::1]:1") == "[::1]:1");
  CHECK(CoordinatorAddress("head:1") == "head:1");
}

TEST_CASE("an invalid address is reported") {
  for (const char* right : {"head", "head:1", "127.0.0.1:65535", "[::1]", "[::1]:8899",
                            "dns:///head:8899", "unix:/run/assay"}) {
    INFO(right);
    CHECK(AddressProblem(right).empty());
  }
  for (const char* wrong :
       {"head:0", "head:65536", "127.0.0.1:99999", "head:", "head:http", "head:-1", "head:+1",
        "head: 1", "head:1x", "head:99999999999999999999", "[::1]:0"}) {
    INFO(wrong);
    CHECK(AddressProblem(wrong).find("from 1 to 65535") != std::string::npos);
  }
  for (const char* wrong : {"http://head:8899", "https://head", "grpc://head:8899", "//head:8899",
                            "head:8899/", "/run/assay"}) {
    INFO(wrong);
    CHECK(AddressProblem(wrong).find("is not HOST:PORT") != std::string::npos);
    CHECK(AddressProblem(wrong).find("for example head:8899") != std::string::npos);
  }
  for (const char* wrong : {"", ":8899"}) {
    INFO(wrong);
    CHECK(AddressProblem(wrong).find("has no host") != std::string::npos);
  }
  for (const char* wrong : {"::1", "fd00::1:8899"}) {
    INFO(wrong);
    CHECK(AddressProblem(wrong).find("must be in brackets") != std::string::npos);
  }
}
