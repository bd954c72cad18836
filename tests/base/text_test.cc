#include "base/text.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "base/ip_address.h"

using namespace assay::base;

TEST_CASE("Shown escapes control characters, bidirectional marks and invalid UTF-8") {
  CHECK(Shown("node_0") == "node_0");
  CHECK(Shown("") == "");
  CHECK(Shown("a\nb\tc\x1b[1m\x7f") == "a\\nb\\tc\\u001b[1m\\u007f");
  CHECK(Shown("\xC2\x85") == "\\u0085");  // C1: "next line"
  CHECK(Shown("a\xE2\x80\xAE"
              "b\xE2\x81\xA6"
              "c") == "a\\u202eb\\u2066c");  // bidirectional
  CHECK(Shown("\xE2\x80\xA9\xE2\x80\xAF") == "\xE2\x80\xA9\xE2\x80\xAF");
  CHECK(Shown("\xFF\xC3") == "\\xff\\xc3");
  CHECK(Shown("节点\xF0\x9F\x9A\x80") == "节点\xF0\x9F\x9A\x80");
  CHECK(Quoted("a b") == "\"a b\"");
}

TEST_CASE("long text is cut between characters") {
  CHECK(Shown(std::string(64, 'x')) == std::string(64, 'x'));
  CHECK(Shown(std::string(65, 'x')) == std::string(64, 'x') + "...");
  CHECK(Shown("节点", 4) == "节...");
  CHECK(Shown("ab\n", 3) == "ab...");
  CHECK(ShownEnd("/a/b/c.json", 64) == "/a/b/c.json");
  CHECK(ShownEnd("/long/path/c.json", 7) == ".../c.json");
  CHECK(ShownEnd("x节点", 4) == "...点");
  for (const char* piece : {"x", "\n", "\xFF", "节", "\xF0\x9F\x9A\x80"}) {
    std::string text;
    while (text.size() < 100'000) text += piece;
    CHECK(Shown(text).size() <= kShownBytes + 3);
    CHECK(ShownEnd(text, 160).size() <= 160 + 3);
  }
}

TEST_CASE("Utf8Length distinguishes valid, invalid and incomplete UTF-8") {
  CHECK(Utf8Length("a") == 1);
  CHECK(Utf8Length("\xC3\xA4") == 2);
  CHECK(Utf8Length("\xED\x9F\xBF") == 3);
  CHECK(Utf8Length("\xF4\x8F\xBF\xBF") == 4);
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80", "\xC3x", "\xE2\x82x"}) {
    INFO(Shown(bad));
    CHECK(Utf8Length(bad) == 0);
  }
  for (const char* open : {"\xC3", "\xE2\x82", "\xF0\x9F\x9A"}) CHECK(Utf8Length(open) == -1);
  CHECK(CharacterCount("节点1") == 3);
}

TEST_CASE("Count uses the singular for 1 and the plural otherwise") {
  CHECK(Count(1, "entry", "entries") == "1 entry");
  CHECK(Count(0, "entry", "entries") == "0 entries");
  CHECK(Count(2, "entry", "entries") == "2 entries");
}

TEST_CASE("IP addresses are distinguished from other text") {
  for (const char* address :
       {"0.0.0.0", "192.0.2.1", "255.255.255.255", "::", "::1", "2001:db8::10", "1:2:3:4:5:6:7:8",
        "1::8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:192.0.2.1", "1:2:3:4:5:6:192.0.2.1",
        "ABCD:ef01::"}) {
    INFO(address);
    CHECK(IsIpAddress(address));
    CHECK(IsIpAddressList(address));
  }
  for (const char* other : {"",
                            "reserve",
                            "-.-.-.-",
                            "10.*.*.*",
                            "1.2.3",
                            "1.2.3.4.5",
                            "1.2.3.256",
                            "01.2.3.4",
                            "1.2.3.4 ",
                            "1..2.3",
                            "1.2.3.4000",
                            ":",
                            ":::",
                            "1:2:3:4:5:6:7",
                            "1:2:3:4:5:6:7:8:9",
                            "1:2:3:4:5:6:7:8::",
                            "1::2::3",
                            "12345::",
                            "g::",
                            "1:2",
                            "fe80::1%eth0",
                            "[::1]",
                            "192.0.2.1::",
                            "::1.2.3",
                            "1:2:3:4:5:6:7:192.0.2.1",
                            "[device_ip_0]"}) {
    INFO(other);
    CHECK_FALSE(IsIpAddress(other));
  }
  CHECK(IsIpAddressList("192.0.2.1,192.0.2.2"));
  CHECK(IsIpAddressList("192.0.2.1, 2001:db8::1"));
  for (const char* other :
       {",", "192.0.2.1,", ",192.0.2.1", "192.0.2.1;192.0.2.2", "192.0.2.1,x"}) {
    CHECK_FALSE(IsIpAddressList(other));
  }
}

TEST_CASE("Printable keeps printable text and replaces everything else") {
  CHECK(Printable("", 10).empty());
  CHECK(Printable("voltage 850 mV", 100) == "voltage 850 mV");
  CHECK(Printable("two\nlines\tand\x7F", 100) == "two lines and ");
  CHECK(Printable("电压 \xF0\x9F\x94\xA5", 100) == "电压 \xF0\x9F\x94\xA5");
  CHECK(Printable("\xB5\xE7", 100) == "??");                // GBK
  CHECK(Printable("a\xC0\x80z", 100) == "a??z");            // overlong
  CHECK(Printable("a\xED\xA0\x80z", 100) == "a???z");       // surrogate
  CHECK(Printable("a\xF4\x90\x80\x80z", 100) == "a????z");  // above U+10FFFF
  CHECK(Printable("cut \xE7\x94", 100) == "cut ??");        // ends in the middle
  CHECK(Printable(std::string("\0\1", 2), 100) == "  ");
}

TEST_CASE("Printable cuts long text between characters") {
  CHECK(Printable("abcdef", 6) == "abcdef");
  CHECK(Printable("abcdefg", 6) == "abc...");
  CHECK(Printable("ab电压电", 8) == "ab电...");
  CHECK(Printable("ab电压", 8) == "ab电压");
  CHECK(Printable("电压", 3) == "...");
  CHECK(Printable("abcd", 3) == "...");
}

TEST_CASE("Printable is bounded and idempotent on random bytes") {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? 0xE0 + random() % 32 : random());
    const std::size_t bytes_max = 3 + random() % 40;
    const std::string once = Printable(text, bytes_max);
    REQUIRE(once.size() <= bytes_max);
    REQUIRE(Printable(once, bytes_max) == once);
  }
}
