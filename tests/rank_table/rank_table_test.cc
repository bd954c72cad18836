// Reads the fixtures: every form and fault found in the field, each with its expected message.
#include "rank_table/rank_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/rank_table/invariants.h"

using namespace assay::rank_table;
using nlohmann::json;

namespace {

const std::string kFolder = ASSAY_TEST_DATA "/ranktables/";

std::string ReadFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

using Mapping = std::map<std::string, std::vector<std::pair<int, int>>>;

Mapping MappingOf(const RankTable& table) {
  Mapping mapping;
  for (const RankPlace& place : table.ranks) {
    mapping[table.nodes[place.node].name].emplace_back(place.rank, place.device);
  }
  return mapping;
}

Mapping MappingOf(const json& nodes) {
  Mapping mapping;
  for (const auto& [name, places] : nodes.items()) {
    for (const json& place : places) mapping[name].emplace_back(place[0], place[1]);
    std::sort(mapping[name].begin(), mapping[name].end());
  }
  return mapping;
}

// The error and all warnings of a reading.
std::string Said(const TableReading& reading) {
  std::string said = reading.error;
  for (const std::string& warning : reading.table.warnings) said += '\n' + warning;
  return said;
}

}  // namespace

TEST_CASE("every fixture gets its verdict, its mapping and its message") {
  const json expected = json::parse(ReadFile("EXPECTED.json"));
  REQUIRE(expected.size() == 59);
  for (const auto& [name, want] : expected.items()) {
    INFO(name);
    const TableReading reading = ReadRankTable(ReadFile(name), name);
    INFO(Said(reading));
    CHECK(VerdictName(reading.verdict) == want["result"].get<std::string>());
    CHECK(MappingOf(reading.table) == MappingOf(want["nodes"]));
    CHECK(Said(reading).find(want["error"].get<std::string>()) != std::string::npos);
    CHECK(BrokenInvariant(reading).empty());
    if (!reading.accepted()) CHECK(reading.error.substr(0, name.size() + 2) == name + ": ");
  }
}

TEST_CASE("an accepted fixture that is truncated anywhere is not ready") {
  for (const char* name :
       {"03_v10_a3_ai_server_mode_host_ip.json", "07_v10_one_line_no_device_ip_server_id_1.json",
        "31_v10_crlf_and_bom.json", "36_grouplist_lab_placeholders_and_spec.json",
        "40_grouplist_cloud_text_order.json", "42_v11_heterogeneous_node_list.json",
        "50_v14_oxc_rankid_key.json", "51_v20_a5_two_servers.json",
        "60_clusterd_two_pods_one_node.json"}) {
    const std::string whole = ReadFile(name);
    REQUIRE(ReadRankTable(whole, name).accepted());
    const std::size_t end = whole.find_last_of('}');
    for (std::size_t size = 0; size <= end; ++size) {
      const TableReading reading = ReadRankTable(whole.substr(0, size), name);
      INFO(name << " cut to " << size << ": " << reading.error);
      REQUIRE(reading.verdict == TableVerdict::kNotReady);
      REQUIRE(BrokenInvariant(reading).empty());
    }
  }
}

TEST_CASE("slices of a split table are accepted only when joined completely and in order") {
  json first = json::parse(ReadFile("58_clusterd_split_part0.json"));
  json second = json::parse(ReadFile("59_clusterd_split_part1.json"));
  const auto joined = [](json front, const json& back) {
    for (const json& server : back["server_list"]) front["server_list"].push_back(server);
    return ReadRankTable(front.dump(), "job");
  };
  const TableReading whole = joined(first, second);
  CHECK(whole.verdict == TableVerdict::kAccept);
  REQUIRE(whole.table.nodes.size() == 3);
  CHECK(whole.table.nodes[2].name == "worker-2");
  REQUIRE(whole.table.ranks.size() == 24);
  CHECK(whole.table.ranks[23] == RankPlace{23, 7, 2});

  const TableReading turned = joined(second, first);
  CHECK(turned.verdict == TableVerdict::kAcceptWarn);
  CHECK(Said(turned).find("joined in the wrong order") != std::string::npos);
  CHECK(turned.table.ranks.size() == 24);

  first.erase("server_count");
  CHECK(Said(ReadRankTable(first.dump(), "job")).find("server_count is missing") !=
        std::string::npos);
}
