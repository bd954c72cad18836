#include "rpc/listen_address.h"

#include <catch2/catch.hpp>
#include <string>

namespace assay::rpc {
namespace {

TEST_CASE("listen addresses are parsed") {
  struct Row {
    const char* text;
    const char* host;
    int port;
    bool loopback;
  };
  for (const Row& row :
       {Row{"127.0.0.1:8899", "127.0.0.1", 8899, true}, Row{"127.9.9.9:1", "127.9.9.9", 1, true},
        Row{"localhost:0", "localhost", 0, true}, Row{"[::1]:65535", "::1", 65535, true},
        Row{"0.0.0.0:8899", "0.0.0.0", 8899, false}, Row{"[::]:8899", "::", 8899, false},
        Row{"head.example:80", "head.example", 80, false},
        Row{"10.0.0.7:80", "10.0.0.7", 80, false}}) {
    INFO(row.text);
    const base::Result<ListenAddress> address = ParseListenAddress(row.text);
    REQUIRE(address.ok());
    CHECK(address->host == row.host);
    CHECK(address->port == row.port);
    CHECK(address->loopback == row.loopback);
    CHECK(address->Text() == row.text);
  }
}

TEST_CASE("an invalid listen address is refused with an error that says why") {
  for (const char* text :
       {"", "8899", "127.0.0.1", ":8899", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:80x", "::1:8899", "[::1]", "[::1", "[]:80", "[127.0.0.1]:80", "a b:80", "a/b:80",
        "[fe80::1%eth0]:80", "127.0.0.1:000080"}) {
    INFO(text);
    const base::Result<ListenAddress> address = ParseListenAddress(text);
    REQUIRE_FALSE(address.ok());
    CHECK(address.status().code() == base::Code::kInvalid);
    CHECK(address.status().text().find("HOST:PORT") != std::string::npos);
  }
  CHECK(ParseListenAddress(std::string(100'000, 'x') + ":1").status().text().size() < 1000);
}

}  // namespace
}  // namespace assay::rpc
