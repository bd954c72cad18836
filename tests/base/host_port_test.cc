#include "base/host_port.h"

#include <catch2/catch.hpp>

namespace assay::base {
namespace {

constexpr HostPortRules kWithDefault{.default_port = 8899};

std::string Parsed(std::string_view text, const HostPortRules& rules = kWithDefault) {
  const Result<HostPort> address = ParseHostPort(text, rules);
  return address.ok() ? address->Text() : address.status().text();
}

TEST_CASE("HOST:PORT is parsed, with a default port and IPv6 in brackets") {
  CHECK(Parsed("head") == "head:8899");
  CHECK(Parsed("head:1") == "head:1");
  CHECK(Parsed("head.example-2_b:65535") == "head.example-2_b:65535");
  CHECK(Parsed("127.0.0.1") == "127.0.0.1:8899");
  CHECK(Parsed("[::1]") == "[::1]:8899");
  CHECK(Parsed("[fd00::1]:80") == "[fd00::1]:80");
  CHECK(Parsed("[fe80::1%eth0]:80") == "[fe80::1%eth0]:80");
  const Result<HostPort> address = ParseHostPort("[::1]:7", {});
  REQUIRE(address.ok());
  CHECK(address->host == "::1");
  CHECK(address->port == 7);
}

TEST_CASE("the rules decide whether the port may be missing or 0") {
  CHECK(Parsed("head", {}).find("has no port") != std::string::npos);
  CHECK(Parsed("[::1]", {}).find("has no port") != std::string::npos);
  CHECK(Parsed("head:0", {}).find("is not a number from 1 to 65535") != std::string::npos);
  CHECK(Parsed("head:0", {.port_min = 0}) == "head:0");
  CHECK(Parsed("head:x", {.port_min = 0}).find("a number from 0 to 65535") != std::string::npos);
}

TEST_CASE("an invalid address is refused with an error that quotes it and says why") {
  struct Row {
    const char* text;
    const char* why;
  };
  for (const Row& row : {Row{"", "has no host"},
                         Row{":", "has no host"},
                         Row{":8899", "has no host"},
                         Row{"[]:1", "has no host"},
                         Row{"::1", "must be in brackets"},
                         Row{"fd00::1:8899", "must be in brackets"},
                         Row{"head:1:2", "must be in brackets"},
                         Row{"[::1", "the bracket is not closed"},
                         Row{"[::1]80", "only :PORT may follow"},
                         Row{"[127.0.0.1]:80", "is not an IPv6 address"},
                         Row{"[::1%]:80", "is not an IPv6"},
                         Row{"[::1%a b]:80", "is not an IPv6 address"},
                         Row{"he ad:1", "is not a host name"},
                         Row{"head\n:1", "is not a host name"},
                         Row{"http://head", "is not a number"},
                         Row{"head:", "is not a number"},
                         Row{"head:-1", "is not a number"},
                         Row{"head:+1", "is not a number"},
                         Row{"head: 1", "is not a number"},
                         Row{"head:1x", "is not a number"},
                         Row{"head:65536", "is not a number"},
                         Row{"head:000080", "is not a number"},
                         Row{"head:99999999999999999999", "is not a number"},
                         Row{"head:8899/", "is not a number"}}) {
    INFO(row.text);
    const Result<HostPort> address = ParseHostPort(row.text, kWithDefault);
    REQUIRE_FALSE(address.ok());
    CHECK(address.status().code() == Code::kInvalid);
    const std::string& text = address.status().text();
    CAPTURE(text);
    CHECK(text.find(row.why) != std::string::npos);
    CHECK(text.front() == '"');
    CHECK(text.find("write HOST:PORT, for example") != std::string::npos);
  }
  CHECK(Parsed(std::string(100'000, 'x') + ":1").size() < 500);
  CHECK(Parsed(std::string(255, 'x')) == std::string(255, 'x') + ":8899");
  CHECK(Parsed(std::string(256, 'x')).find("is not a host name") != std::string::npos);
}

TEST_CASE("the coordinator's default address has its default port") {
  CHECK(Parsed(kCoordinatorAddress, {}) == "127.0.0.1:" + std::to_string(kCoordinatorPort));
}

}  // namespace
}  // namespace assay::base
