#include "cli/output.h"

#include <catch2/catch.hpp>
#include <string>

using namespace assay::cli;

TEST_CASE("control characters become visible, newlines stay") {
  CHECK(Visible("") == "");
  CHECK(Visible("plain\ntext \xC3\xA9\n") == "plain\ntext \xC3\xA9\n");
  CHECK(Visible("a\x1B[2Jb") == "a\\u001b[2Jb");
  CHECK(Visible("\xC2\x9B\x32K") == "\\u009b2K");
  CHECK(Visible("a\xE2\x80\xAE") == "a\\u202e");
  CHECK(Visible("\r\t\x7F\n") == "\\u000d\\t\\u007f\n");
  CHECK(Visible("\xFF\xC2") == "\\xff\\xc2");
  CHECK(Visible(std::string("\0", 1)) == "\\u0000");
}

TEST_CASE("JSON has no raw control character and keeps its values") {
  const std::string text = "\x1B[2J\xC2\x9B\xE2\x80\xAE\x7F\t\n\"\\\xC3\xA9";
  const Json json{{text, text}, {"list", {text}}};
  for (const int indent : {-1, 2}) {
    const std::string dumped = JsonText(json, indent);
    INFO(dumped);
    CHECK(dumped.find("\\u009b\\u202e\\u007f") != std::string::npos);
    CHECK(dumped.find('\x1B') == std::string::npos);
    CHECK(dumped.find("\xC2\x9B") == std::string::npos);
    CHECK(dumped.find("\xE2\x80\xAE") == std::string::npos);
    CHECK(Json::parse(dumped) == json);
  }
  CHECK(JsonText(json, -1).find('\n') == std::string::npos);
  CHECK(JsonText(Json("\xFF"), -1) == "\"\xEF\xBF\xBD\"");
}
