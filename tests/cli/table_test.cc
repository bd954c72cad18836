#include "cli/table.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace assay::cli;

TEST_CASE(
    "columns are as wide as their cells, numbers are aligned right, lines have no trailing "
    "spaces") {
  Table table({{"NAME"}, {"N", Table::Align::kRight}, {"TEXT"}});
  table.Add({"a", "7", "x"});
  table.Add({"longer", "12345", ""});
  CHECK(table.Text() ==
        "NAME        N  TEXT\n"
        "a           7  x\n"
        "longer  12345\n");
}

TEST_CASE("text from outside cannot control the terminal and cannot widen a table without bound") {
  Table table({{"A"}, {"B"}});
  table.Add({"\x1b[31mred\n", std::string(1000, 'x')});
  const std::string text = table.Text();
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.size() < 300);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("widths are counted in characters, not bytes") {
  Table table({{"A"}, {"B"}});
  table.Add({"\xc3\xa4\xc3\xb6", "x"});
  table.Add({"ab", "y"});
  CHECK(table.Text() == "A   B\n\xc3\xa4\xc3\xb6  x\nab  y\n");
}

TEST_CASE("times are in UTC") {
  CHECK(TimeText(0) == "-");
  CHECK(TimeText(1'767'323'045'678) == "2026-01-02 03:04:05");
}
