#include "base/text.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace assay;

TEST_CASE("printable text is kept, anything else is replaced") {
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

TEST_CASE("text that is too long is cut at a character") {
  CHECK(Printable("abcdef", 6) == "abcdef");
  CHECK(Printable("abcdefg", 6) == "abc...");
  CHECK(Printable("ab电压电", 8) == "ab电...");
  CHECK(Printable("ab电压", 8) == "ab电压");
  CHECK(Printable("电压", 3) == "...");
  CHECK(Printable("abcd", 3) == "...");
}

TEST_CASE("random bytes become printable text within the bound, which stays as it is") {
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
