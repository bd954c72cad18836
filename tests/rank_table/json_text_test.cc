#include "rank_table/json_text.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

using namespace assay::rank_table;
using nlohmann::json;

namespace {

JsonFault FaultOf(const std::string& text, const JsonLimits& limits = {}) {
  const auto fault = CheckJson(text, limits);
  INFO(text);
  REQUIRE(fault.has_value());
  return *fault;
}

// The verdict of nlohmann::json. It refuses numbers beyond a double, which CheckJson() accepts.
enum class Judgement { kJson, kOther, kNumberTooBig };
Judgement JudgementOf(const std::string& text) {
  try {
    return json::parse(text).is_discarded() ? Judgement::kOther : Judgement::kJson;
  } catch (const json::out_of_range&) {
    return Judgement::kNumberTooBig;
  } catch (const json::parse_error&) {
    return Judgement::kOther;
  }
}

// The value at walker as an nlohmann::json value.
json Rebuild(JsonWalker& walker) {
  switch (walker.type()) {
    case JsonType::kObject: {
      json object = json::object();
      walker.Members([&](std::string_view key, JsonWalker& value) {
        const std::string name(key);
        object[name] = Rebuild(value);
        return true;
      });
      return object;
    }
    case JsonType::kArray: {
      json array = json::array();
      walker.Elements([&](std::size_t index, JsonWalker& value) {
        CHECK(index == array.size());
        array.push_back(Rebuild(value));
        return true;
      });
      return array;
    }
    case JsonType::kString:
      return walker.Scalar().Text();
    case JsonType::kNumber:
      return json::parse(walker.Scalar().raw);
    default:
      const JsonType type = walker.Scalar().type;
      return type == JsonType::kNull ? json() : json(type == JsonType::kTrue);
  }
}

}  // namespace

TEST_CASE("invalid JSON is reported with its offset") {
  struct Case {
    const char* text;
    std::size_t offset;
    const char* says;
  };
  const Case cases[] = {
      {"{\"a\":1 // x\n}", 7, "comments are not allowed in JSON"},
      {"/* x */ {}", 0, "comments are not allowed in JSON"},
      {"# x\n{}", 0, "comments are not allowed in JSON"},
      {"{\"a\":1,}", 6, "trailing comma in object"},
      {"[1, ]", 2, "trailing comma in array"},
      {"{\"a\":1 \"b\":2}", 7, "expected ',' or '}' after a, found '\"'"},
      {"[1 2]", 3, "expected ',' or ']' after element 1, found \"2\""},
      {"[[1,2,3],[4] 5]", 13, "after element 2"},
      {"{\"a\" 1}", 5, "expected ':' after key \"a\", found \"1\""},
      {"{a:1}", 1, "expected a key in double quotes, found \"a\""},
      {"{'a':1}", 1, "expected a key in double quotes, found '''"},
      {"{\"a\":}", 5, "expected a value, found '}'"},
      {"[,1]", 1, "expected a value, found ','"},
      {"{\"a\":True}", 5, "expected a value, found \"True\""},
      {"{\"a\":nan}", 5, "expected a value, found \"nan\""},
      {"{\"a\":01}", 5, "number with a leading zero"},
      {"{\"a\":-x}", 6, "malformed number"},
      {"{\"a\":1.}", 7, "malformed number"},
      {"{\"a\":1e}", 7, "malformed number"},
      {"{} {}", 3, "unexpected text after the end"},
      {"{}]", 2, "unexpected text after the end"},
      {"[1}", 2, "expected ',' or ']' after element 1, found '}'"},
      {"{\"a\":\"x\ny\"}", 7, "control character '\\n' in a string"},
      {"[\"\\q\"]", 2, "unknown escape"},
      {"[\"\\u12g4\"]", 2, "four hexadecimal digits"},
      {"[\"\\ud800x\"]", 2, "unpaired surrogate"},
      {"[\"\\ud800\\u0041\"]", 2, "unpaired surrogate"},
      {"[\"\\udc00\"]", 2, "unpaired surrogate"},
      {"[\"a\xFF\"]", 3, "not UTF-8: byte '\\xff'"},
      {"[\"\xC0\xAF\"]", 2, "not UTF-8"},
      {"[\xC3\xA4]", 1, "expected a value, found 'ä'"},
      {"{\"a\":1,\"b\":2,\"a\":3}", 13, "key \"a\" appears twice"},
      {"{\"a\":1,\"\\u0061\":3}", 7, "key \"a\" appears twice"},
      {"{\"o\":{\"x\":{}, \"x\":[]}}", 14, "key \"x\" appears twice"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const JsonFault fault = FaultOf(c.text);
    INFO(fault.text);
    CHECK_FALSE(fault.at_end);
    CHECK(fault.offset == c.offset);
    CHECK(fault.text.find(c.says) != std::string::npos);
  }
}

TEST_CASE("truncated JSON is distinguished from invalid JSON") {
  const std::string whole =
      R"( {"a\n\u00e4\ud83d\ude80": [1, -2.5e+3, true, false, null, "x", {}, []], "b": "ä" })";
  REQUIRE_FALSE(CheckJson(whole).has_value());
  for (std::size_t size = 0; size < whole.size() - 1; ++size) {
    const JsonFault fault = FaultOf(whole.substr(0, size));
    INFO(size << ": " << fault.text);
    CHECK(fault.at_end);
    CHECK(fault.offset == size);
  }
  CHECK(IsBlank(""));
  CHECK(IsBlank(" \r\n\t"));
  CHECK(IsBlank("\xEF\xBB"));
  CHECK(IsBlank("\xEF\xBB\xBF\n"));
  CHECK_FALSE(IsBlank("\xEF\xBB\xBF{"));
  CHECK_FALSE(IsBlank(std::string(1, '\0')));
}

TEST_CASE("lines are counted from 1") {
  CHECK(LineAt("a\nb\nc", 0) == 1);
  CHECK(LineAt("a\nb\nc", 1) == 1);
  CHECK(LineAt("a\nb\nc", 2) == 2);
  CHECK(LineAt("a\nb\nc", 5) == 3);
}

TEST_CASE("depth and keys are bounded") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK_FALSE(CheckJson(nested(64)).has_value());
  CHECK(FaultOf(nested(65)).text == "nested deeper than 64 levels");
  CHECK(FaultOf(std::string(1'000'000, '[')).text == "nested deeper than 64 levels");

  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(FaultOf(objects).text == "nested deeper than 64 levels");

  const auto keys = [](int count, int repeated) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += '"' + std::to_string(i) + "\":0,";
    return text + "\"k" + std::to_string(repeated) + "\":0,\"" + std::to_string(repeated) + "\":0}";
  };
  CHECK_FALSE(CheckJson(keys(9'998, 9'999)).has_value());
  CHECK(FaultOf(keys(9'999, 9'999)).text == "more than 10000 keys in one object");
  for (const int repeated : {0, 1, 50, 99}) {
    const JsonFault fault = FaultOf(keys(100, repeated));
    CHECK(fault.text == "key \"" + std::to_string(repeated) + "\" appears twice in one object");
    CHECK(fault.offset > 100 * 5);  // the second of the two
  }
}

TEST_CASE("a walker returns the values of the text") {
  const std::string text =
      "\xEF\xBB\xBF\r\n{ \"a\" : [ ] , \"b\\u0020\\\"\" : { } ,\r\n \"c\":[1 , -2.5E1,true,\t"
      "false,null, \"\\u00e4\\ud83d\\ude80\\b\\f\\n\\r\\t\\/\\\\\"],\"d\":{\"e\":[[],[[0]]]}}\n";
  REQUIRE_FALSE(CheckJson(text).has_value());
  JsonWalker walker(text);
  CHECK(Rebuild(walker) == json::parse(text));

  // The walker skips members that the visitor does not consume, and the visitor can end the walk.
  std::vector<std::string> keys;
  JsonWalker skipping(text);
  CHECK(skipping.Members([&](std::string_view key, JsonWalker&) {
    keys.emplace_back(key);
    return true;
  }));
  CHECK(keys == std::vector<std::string>{"a", "b \"", "c", "d"});
  JsonWalker ending(text);
  CHECK_FALSE(ending.Members([](std::string_view key, JsonWalker&) { return key == "a"; }));
}

TEST_CASE("CheckJson agrees with nlohmann::json on mutated texts") {
  const std::string seeds[] = {
      R"({"a":[1,2.5,-3e7,{"b":null}],"c\u0041":"x\n\ud83d\ude80","d":[true,false,[]],"e":{}})",
      R"([{"rank_id":"0","device_id":0},{"rank_id":"1","device_id":1}])",
      "{\r\n\t\"ä节\" : \"\xF0\x9F\x9A\x80\" ,\n \"z\" : [ ] }",
  };
  const std::string bytes = "{}[]:,\"\\/ue0123456789+-.aEntrfls \n\t\xC3\xA4\xF0\x9F\x80\xED\x00";
  std::mt19937 random(20240607);
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  int agreed = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = seeds[below(3)];
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = bytes[below(bytes.size())];
          break;
        case 1:
          text.insert(at, 1, bytes[below(bytes.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(2));
          if (text.empty()) text = " ";
          break;
        default:
          text.insert(at, text.substr(below(text.size()), 1 + below(8)));
      }
    }
    const auto fault = CheckJson(text);
    const Judgement judgement = JudgementOf(text);
    INFO(text << "\n" << (fault ? fault->text : "taken"));
    if (judgement == Judgement::kNumberTooBig) continue;
    const bool repeated = fault && fault->text.find("appears twice") != std::string::npos;
    REQUIRE((judgement == Judgement::kJson) == (!fault || repeated));
    if (fault) continue;
    JsonWalker walker(text);
    REQUIRE(Rebuild(walker) == json::parse(text));
    ++agreed;
  }
  CHECK(agreed > 1'000);
}
