// Small parts: number.h, json_string.h, uuid.h, thread.h, steady_clock.h.
#include <pthread.h>

#include <catch2/catch.hpp>
#include <future>
#include <limits>
#include <regex>
#include <set>

#include "base/json_string.h"
#include "base/number.h"
#include "base/steady_clock.h"
#include "base/thread.h"
#include "base/uuid.h"

namespace assay::base {
namespace {

TEST_CASE("ParseNumber accepts a whole number and nothing else") {
  CHECK(ParseNumber<int>("0") == 0);
  CHECK(ParseNumber<int>("-3") == -3);
  CHECK(ParseNumber<int>("007") == 7);
  CHECK(ParseNumber<std::int64_t>("9223372036854775807") ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(ParseNumber<std::uint64_t>("18446744073709551615") ==
        std::numeric_limits<std::uint64_t>::max());
  for (const char* wrong : {"", " ", "+1", " 1", "1 ", "1x", "x", "0x10", "1.0", "--1", "-"}) {
    INFO(wrong);
    CHECK_FALSE(ParseNumber<int>(wrong));
  }
  CHECK_FALSE(ParseNumber<std::uint32_t>("-1"));
  CHECK_FALSE(ParseNumber<std::uint32_t>("4294967296"));
  CHECK_FALSE(ParseNumber<std::int32_t>("2147483648"));
  CHECK_FALSE(ParseNumber<int>(std::string_view("1\0", 2)));
  CHECK_FALSE(ParseNumber<int>(std::string_view()));
}

TEST_CASE("AppendJsonString escapes what JSON requires") {
  std::string json = "x";
  AppendJsonString("a\"b\\c/\n\x1f\x7f节", &json);
  CHECK(json == "x\"a\\\"b\\\\c/\\u000a\\u001f\x7f节\"");
  json.clear();
  AppendJsonString(std::string_view("\0", 1), &json);
  CHECK(json == "\"\\u0000\"");
}

TEST_CASE("UUIDs are of version 4 and differ") {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> all;
  const UuidSeries series;
  const UuidSeries other;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (const std::string& uuid : {RandomUuid(), series.Text(i), other.Text(i)}) {
      INFO(uuid);
      CHECK(std::regex_match(uuid, form));
      all.insert(uuid);
    }
  }
  CHECK(all.size() == 3000);
  CHECK(series.Text(7) == series.Text(7));
}

TEST_CASE("threads run their work under their name") {
  const auto name = [] {
    char text[16] = {};
    pthread_getname_np(pthread_self(), text, sizeof text);
    return std::string(text);
  };
  std::promise<void> named;
  std::shared_future<void> go = named.get_future().share();
  std::string seen;
  std::thread thread;
  REQUIRE(StartThread(&thread, "a test", "some-name", [&] {
            go.wait();  // the name is set after the start
            seen = name();
          }).ok());
  named.set_value();
  thread.join();
  CHECK(seen == "some-name");

  auto promise = std::make_shared<std::promise<int>>();
  std::future<int> answer = promise->get_future();
  REQUIRE(StartDetachedThread("a test", "detached", [promise] { promise->set_value(7); }).ok());
  CHECK(answer.get() == 7);
}

TEST_CASE("the steady clock never goes back") {
  const std::int64_t first = SteadyNow();
  std::int64_t last = first;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = SteadyNow();
    CHECK(now >= last);
    last = now;
  }
}

}  // namespace
}  // namespace assay::base
