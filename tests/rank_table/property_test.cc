// Random tables, random mutations of them, and the limits.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "rank_table/rank_table.h"
#include "tests/rank_table/hccl_json_invariants.h"
#include "tests/rank_table/invariants.h"
#include "tests/rank_table/table_writer.h"

using namespace assay::rank_table;

namespace {

using Triple = std::tuple<std::int32_t, std::int32_t, std::string>;

template <class NodeName>
std::vector<Triple> Triples(const std::vector<RankPlace>& ranks, NodeName&& node_name) {
  std::vector<Triple> triples;
  for (const RankPlace& place : ranks) {
    triples.emplace_back(place.rank, place.device, node_name(place.node));
  }
  return triples;
}

// A table of nodes with eight devices each in rank order, as ClusterD and HCCL tools write it.
std::string BigTable(int ranks, const std::string& status) {
  std::string text = R"({"status": ")" + status + R"(", "server_list": [)";
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string node = std::to_string(rank / 8);
    if (rank % 8 == 0) {
      text += rank > 0 ? "]}, " : "";
      text += R"({"server_id": "node_)" + node + R"(", "device": [)";
    }
    text += (rank % 8 > 0 ? ", " : "") + (R"({"device_id": ")" + std::to_string(rank % 8)) +
            R"(", "device_ip": "198.51.100.1", "rank_id": ")" + std::to_string(rank) + R"("})";
  }
  return text + "]}]}";
}

}  // namespace

TEST_CASE("random tables of every form are read with their mapping") {
  for (const WrittenForm form : kWrittenForms) {
    int accepted = 0;
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      TableWriter writer(seed);
      const WrittenTable written = writer.Write(form);
      const TableReading reading = ReadRankTable(written.text, "table");
      INFO("form " << static_cast<int>(form) << ", seed " << seed << ": " << reading.error);
      REQUIRE(reading.accepted());
      REQUIRE(BrokenInvariant(reading) == "");
      accepted += reading.verdict == TableVerdict::kAccept;
      const RankTable& table = reading.table;
      REQUIRE(table.nodes.size() == written.nodes.size());
      REQUIRE(Triples(table.ranks, [&](std::uint32_t node) { return table.nodes[node].name; }) ==
              Triples(written.ranks, [&](std::uint32_t node) { return written.nodes[node]; }));
    }
    CHECK(accepted > 20);
  }
}

TEST_CASE("mutated tables give results that hold the invariants") {
  const std::string bytes = "{}[]:,\"\\0123456789abc-. \n\xC3\xFF\x80";
  std::map<TableVerdict, int> verdicts;
  for (std::uint32_t seed = 0; seed < 4'000; ++seed) {
    TableWriter writer(seed);
    std::string text = writer.Write(kWrittenForms[seed % std::size(kWrittenForms)]).text;
    for (std::size_t edits = 1 + writer.Below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = writer.Below(text.size());
      const std::size_t length = 1 + writer.Below(40);
      switch (writer.Below(5)) {
        case 0:
          text[at] = bytes[writer.Below(bytes.size())];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(writer.Below(text.size()), length));
          break;
        case 3:
          text.resize(at);
          break;
        default:
          std::swap(text[at], text[writer.Below(text.size())]);
      }
    }
    const TableReading reading = ReadRankTable(text, "table");
    INFO("seed " << seed << "\n" << reading.error);
    REQUIRE(BrokenInvariant(reading) == "");
    REQUIRE(BrokenHcclJson(text, reading) == "");
    ++verdicts[reading.verdict];
  }
  CHECK(verdicts[TableVerdict::kReject] > 1'000);
  CHECK(verdicts[TableVerdict::kNotReady] > 100);
  CHECK(verdicts[TableVerdict::kAccept] > 100);
}

TEST_CASE("65,536 ranks are read, one more is refused") {
  const TableReading reading = ReadRankTable(BigTable(65'536, "completed"), "big");
  CHECK(reading.error == "");
  CHECK(reading.verdict == TableVerdict::kAccept);
  CHECK(reading.table.nodes.size() == 8'192);
  REQUIRE(reading.table.ranks.size() == 65'536);
  CHECK(reading.table.ranks[65'535] == RankPlace{65'535, 7, 8'191});

  RankTableLimits limits;
  limits.ranks = 100;
  CHECK(ReadRankTable(BigTable(100, "complete"), "t", {.limits = limits}).accepted());
  CHECK(ReadRankTable(BigTable(101, "complete"), "t", {.limits = limits}).error ==
        "t: line 1: node_12 device 4: rank_id 100 out of range 0..99");
  limits.ranks = 2;
  CHECK(ReadRankTable(R"({"status": "completed", "group_list": [{"instance_list": [
                          {"server_id": "a", "devices": [{"device_id": 0}, {"device_id": 1}]},
                          {"server_id": "b", "devices": [{"device_id": 0}]}]}]})",
                      "t", {.limits = limits})
            .error == "t: line 3: more than 2 ranks");
}

TEST_CASE("size, depth and encoding are bounded") {
  RankTableLimits limits;
  limits.bytes = 100;
  CHECK(ReadRankTable(std::string(101, ' '), "big.json", {.limits = limits}).error ==
        "big.json: the table has 101 bytes, more than the limit of 100");
  CHECK(ReadRankTable(std::string(100, ' '), "big.json", {.limits = limits}).verdict ==
        TableVerdict::kNotReady);
  for (const char* piece : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string deep;
    while (deep.size() < 1'000'000) deep += piece;
    const TableReading reading = ReadRankTable(deep, "t");
    CHECK(reading.verdict == TableVerdict::kReject);
    CHECK(reading.error.find("line 1: nested deeper than 64 levels") != std::string::npos);
  }
  CHECK(ReadRankTable("\xFF\xFE{", "t").error == "t: the text is UTF-16: save it as UTF-8");
  CHECK(ReadRankTable("{\n\"server_id\": \"n\xFF\"}", "t").error ==
        "t: line 2: not UTF-8: byte '\\xff' (offset 17)");
}

TEST_CASE("messages are short and printable for any table content and source name") {
  const std::string huge(200'000, 'y');
  const auto table = [](const std::string& name, const std::string& device) {
    return R"({"status":"completed","server_list":[{"server_id":")" + name + R"(","device":[)" +
           device + R"(]},{"server_id":")" + name + R"(2","device":[)" + device + "]}]}";
  };
  const std::string name(4'000, 'n');
  const std::string texts[] = {
      table(huge, R"({"device_id":"0","rank_id":"0"})"),
      table(name, R"({"device_id":"0","rank_id":"0"})"),
      table(name, R"({"device_id":")" + huge + R"(","rank_id":"0"})"),
      table(name, R"({"device_id":)" + std::string(10'000, '9') + R"(,"rank_id":"0"})"),
      table("n", R"({"device_id":"0","rank_id":"0","device_ip":")" + huge + R"("})"),
      table("a\\u0000b", R"({"device_id":"0","rank_id":"0"})"),
      R"({"status":")" + huge + R"(","server_list":[]})",
      R"({"status":"completed","version":")" + huge + R"(","server_list":[{}]})",
      "{\"" + huge + "\":1,\"" + huge + "\":2}",
      "{\"" + huge + "\" 1}",
      "{\"a\":" + huge + "}",
      "{\"a\":1}" + huge,
      "{\"" + huge + "\":1}",
  };
  for (const std::string& text : texts) {
    for (const std::string& source :
         {std::string("t"), "/" + std::string(4'000, 'd') + "/hccl.json",
          std::string(4'000, '\x01'), std::string(4'000, '\xFF')}) {
      const TableReading reading = ReadRankTable(text, source);
      INFO(reading.error);
      CHECK(reading.verdict == TableVerdict::kReject);
      CHECK(BrokenInvariant(reading) == "");
    }
  }
  CHECK(ReadRankTable("x", "/" + std::string(4'000, 'd') + "/hccl.json")
            .error.find("ddd/hccl.json:") != std::string::npos);
}

TEST_CASE("verdicts have names") {
  CHECK(VerdictName(TableVerdict::kAccept) == "accept");
  CHECK(VerdictName(TableVerdict::kAcceptWarn) == "accept-warn");
  CHECK(VerdictName(TableVerdict::kNotReady) == "not-ready");
  CHECK(VerdictName(TableVerdict::kReject) == "reject");
}
