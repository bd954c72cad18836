#include "rank_table/hccl_json.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/rank_table/hccl_json_invariants.h"
#include "tests/rank_table/table_writer.h"

using namespace assay::rank_table;
using Json = nlohmann::ordered_json;

namespace {

std::string ReadFixture(const std::string& name) {
  std::ifstream file(ASSAY_TEST_DATA "/ranktables/" + name, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Sent(const std::string& text) {
  const TableReading reading = ReadRankTable(text, "table");
  INFO(reading.error);
  CHECK(BrokenHcclJson(text, reading) == "");
  return HcclJson(reading.TableText(text), reading.table);
}

// Replaces single quotes with double quotes.
std::string Quotes(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

// Reads the ranks as a subscriber that supports only ClusterD's shape.
std::vector<RankTriple> ShapeTriples(const Json& sent) {
  std::map<std::int32_t, RankTriple> by_rank;
  for (const Json& server : sent.at("server_list")) {
    const auto name = server.at("server_name").get<std::string>();
    CHECK(server.at("server_id").is_string());
    CHECK(server.contains("server_sn"));
    for (const Json& device : server.at("device")) {
      const int rank = std::stoi(device.at("rank_id").get<std::string>());
      const int id = std::stoi(device.at("device_id").get<std::string>());
      CHECK(by_rank.emplace(rank, RankTriple{rank, id, name}).second);
    }
  }
  std::vector<RankTriple> triples;
  for (const auto& [rank, triple] : by_rank) triples.push_back(triple);
  return triples;
}

}  // namespace

TEST_CASE("a table that is not ready is sent as initializing") {
  CHECK(kHcclInitializing == "{\"status\":\"initializing\"}");
  CHECK(HcclJson("", {}) == kHcclInitializing);
  CHECK(HcclJson(R"({"status": "initializing"})", {}) == kHcclInitializing);
  const std::string ready = ReadFixture("55_clusterd_complete_a3.json");
  CHECK(HcclJson("", ReadRankTable(ready, "").table) == kHcclInitializing);
  CHECK(HcclJson(ready, {}) == kHcclInitializing);
}

TEST_CASE("every accepted fixture is sent completely, in ClusterD's shape") {
  const Json expected = Json::parse(ReadFixture("EXPECTED.json"));
  int accepted = 0;
  for (const auto& [name, want] : expected.items()) {
    INFO(name);
    const std::string text = ReadFixture(name);
    const TableReading reading = ReadRankTable(text, name);
    CHECK(BrokenHcclJson(text, reading) == "");
    if (!reading.accepted()) continue;
    ++accepted;
    const Json sent = Json::parse(HcclJson(reading.TableText(text), reading.table));
    CHECK(ShapeTriples(sent) == RankTriples(reading.table));
    CHECK(sent.at("status") == "complete");
    CHECK(sent.at("server_count") == std::to_string(sent.at("server_list").size()));
    CHECK(sent.at("total").is_number());
    CHECK(sent.at("version").is_string());
  }
  CHECK(accepted > 25);
}

TEST_CASE("a ClusterD table is sent unchanged") {
  for (const char* name : {"55_clusterd_complete_a3.json", "60_clusterd_two_pods_one_node.json",
                           "62_clusterd_heterogeneous_rank_gap.json"}) {
    Json table = Json::parse(ReadFixture(name));
    table["version"] = "1.0";
    CHECK(Sent(ReadFixture(name)) == table.dump());
  }
}

TEST_CASE("unknown members are preserved, except Assay's own object") {
  const std::string text =
      "{\"version\": \"1.2\", \"x\": [ 1, {\"a b\" : \"c  d\"} ], \"assay\": {\"name\": \"n\"},"
      "\"status\": \"completed\", \"server_list\": [{\"z\\u0001\\\"\": null, \"server_id\": 7,"
      "\"device\": [{\"rank_id\": 0, \"k\": -1.5e3, \"device_id\": \"003\","
      "\"device_ip\": \"-.-\"}], \"n\": {\"s\": []}}], \"super_pod_list\": "
      "[{\"super_pod_id\": \"p\", \"server_list\": [{\"server_id\": \"7\"}]}]}";
  CHECK(Sent(text) ==
        "{\"status\":\"complete\",\"server_list\":[{\"device\":[{\"device_id\":\"3\","
        "\"device_ip\":\"-.-\",\"rank_id\":\"0\",\"k\":-1.5e3}],\"server_id\":\"7\","
        "\"z\\u0001\\\"\":null,\"n\":{\"s\":[]},\"server_name\":\"7\",\"server_sn\":\"\"}],"
        "\"server_count\":\"1\",\"total\":1,\"version\":\"1.2\",\"x\":[1,{\"a b\":\"c  d\"}],"
        "\"super_pod_list\":[{\"super_pod_id\":\"p\",\"server_list\":[{\"server_id\":\"7\"}]}]}");
}

TEST_CASE("every key of a fixture with servers is preserved") {
  const Json expected = Json::parse(ReadFixture("EXPECTED.json"));
  for (const auto& [name, want] : expected.items()) {
    INFO(name);
    const std::string text = ReadFixture(name);
    const TableReading reading = ReadRankTable(text, name);
    const Json table = reading.accepted() ? Json::parse(text) : Json();
    if (!table.contains("server_list")) continue;
    const Json sent = Json::parse(HcclJson(reading.TableText(text), reading.table));
    for (const auto& [key, value] : table.items()) CHECK(sent.contains(key));
    for (std::size_t i = 0; i < table["server_list"].size(); ++i) {
      const Json& server = sent["server_list"].at(i);
      for (const auto& [key, value] : table["server_list"][i].items()) {
        CHECK(server.contains(key));
      }
      for (std::size_t j = 0; j < server["device"].size(); ++j) {
        for (const auto& [key, value] : table["server_list"][i]["device"][j].items()) {
          CHECK(server["device"][j].contains(key == "rankid" ? "rank_id" : key));
        }
      }
    }
  }
}

TEST_CASE("instances become servers and keep their members") {
  const std::string table = Quotes(R"({'status':'completed','group_count':'1','job':'j',
    'group_list':[{'group_name':'g','instance_list':[
      {'pod_name':'p0','server_id':'a','host_ip':'192.0.2.1','server_sn':'S','devices':[
        {'device_id':'1','device_ip':'198.51.100.1'},{'device_id':'0'}]},
      {'pod_name':'p1','server_id':'b','devices':[{'device_id':'4','x':1}]},
      {'pod_name':'p2','server_id':'a','devices':[{'device_id':'3'},{'device_id':'2'}]}]}]})");
  CHECK(Sent(table) ==
        Quotes("{'status':'complete','server_list':[{'device':["
               "{'device_id':'1','device_ip':'198.51.100.1','rank_id':'1'},"
               "{'device_id':'0','rank_id':'0'},"
               "{'device_id':'3','rank_id':'3','pod_name':'p2'},"
               "{'device_id':'2','rank_id':'2'}],"
               "'server_id':'a','host_ip':'192.0.2.1','pod_name':'p0','server_name':'a',"
               "'server_sn':'S'},"
               "{'device':[{'device_id':'4','rank_id':'4','x':1,'pod_name':'p1'}],"
               "'server_id':'b','server_name':'b','server_sn':''}],"
               "'server_count':'2','total':1,'version':'1.0','group_count':'1','job':'j'}"));
}

TEST_CASE("2.0 ranks are grouped by node, with their levels and an address") {
  const std::string table = Quotes(R"({'version':'2.0','rank_count':3,'rank_list':[
    {'rank_id':1,'device_id':40,'local_id':5,'level_list':[
      {'net_layer':0,'net_instance_id':'b','rank_addr_list':[{'addr_type':'EID','addr':'00ff'}]},
      {'net_layer':1,'rank_addr_list':[{'addr':'198.51.100.7'}]},
      {'net_layer':3,'rank_addr_list':[{'addr':'192.0.2.5'}]}]},
    {'rank_id':0,'device_id':2,'level_list':[]},
    {'rank_id':2,'device_id':0,'level_list':[{'net_layer':0,'net_instance_id':'b'}]}]})");
  CHECK(Sent(table) ==
        Quotes("{'status':'complete','server_list':[{'device':["
               "{'device_id':'40','device_ip':'198.51.100.7','rank_id':'1','local_id':5,"
               "'level_list':[{'net_layer':0,'net_instance_id':'b','rank_addr_list':"
               "[{'addr_type':'EID','addr':'00ff'}]},{'net_layer':1,'rank_addr_list':"
               "[{'addr':'198.51.100.7'}]},{'net_layer':3,'rank_addr_list':"
               "[{'addr':'192.0.2.5'}]}]},"
               "{'device_id':'0','rank_id':'2','level_list':[{'net_layer':0,"
               "'net_instance_id':'b'}]}],"
               "'server_id':'b','host_ip':'192.0.2.5','server_name':'b','server_sn':''},"
               "{'device':[{'device_id':'2','rank_id':'0','level_list':[]}],'server_id':'',"
               "'server_name':'','server_sn':''}],"
               "'server_count':'2','total':1,'version':'2.0','rank_count':3}"));
}

TEST_CASE("a rank on the host's processor has device -1") {
  const std::string table = Quotes(R"({'status':'completed','server_count':9,
    'super_pod_list':[{'server_list':[{'server_id':'q'}]}],'total':'many',
    'node_list':[{'node_addr':'a','device':'d','ranks':[
    {'rank_id':'0','device_id':'0','rank_ip':'198.51.100.50'},{'rank_id':'1','rank_ip':''}]}]})");
  CHECK(Sent(table) ==
        Quotes("{'status':'complete','server_list':[{'device':["
               "{'device_id':'0','device_ip':'198.51.100.50','rank_id':'0',"
               "'rank_ip':'198.51.100.50'},{'device_id':'-1','rank_id':'1','rank_ip':''}],"
               "'server_id':'a','server_name':'a','server_sn':''}],"
               "'server_count':'1','total':1,'version':'1.1'}"));
}

TEST_CASE("random tables of every form are sent completely") {
  for (const WrittenForm form : kWrittenForms) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      TableWriter writer(seed);
      const WrittenTable written = writer.Write(form);
      const TableReading reading = ReadRankTable(written.text, "table");
      INFO("form " << static_cast<int>(form) << ", seed " << seed << "\n" << written.text);
      REQUIRE(reading.accepted());
      REQUIRE(BrokenHcclJson(written.text, reading) == "");
      REQUIRE(ShapeTriples(Json::parse(HcclJson(reading.TableText(written.text), reading.table))) ==
              RankTriples(reading.table));
    }
  }
}

TEST_CASE("objects at the size and depth limits can be sent and read again") {
  std::string keys;
  for (int i = 0; i < 9'996; ++i) keys += ",'k" + std::to_string(i) + "':0";
  std::string deep = "1";
  for (int i = 0; i < 58; ++i) deep = "[" + deep + "]";
  Sent(
      Quotes("{'status':'completed','server_list':[{'server_id':'a','device':[{'device_id':0,"
             "'rank_id':0" +
             keys + "}]" + keys + "}]" + keys + "}"));
  Sent(Quotes("{'rank_list':[{'device_id':0,'rank_id':0,'d':" + deep + "}],'e':" + deep + "}"));
}

TEST_CASE("65,536 ranks are sent") {
  for (const bool lab : {false, true}) {
    std::string text = lab ? "{'status':'completed','group_list':[{'instance_list':["
                           : "{'status':'completed','rank_list':[";
    for (int rank = 0; rank < 65'536; ++rank) {
      const std::string node = "n" + std::to_string(rank / 8);
      const std::string device = std::to_string(rank % 8);
      text += rank > 0 ? "," : "";
      text += lab ? "{'server_id':'" + node + "','devices':[{'device_id':'" + device + "'}]}"
                  : "{'rank_id':" + std::to_string(rank) + ",'device_id':" + device +
                        ",'level_list':[{'net_layer':0,'net_instance_id':'" + node + "'}]}";
    }
    text = Quotes(text + (lab ? "]}]}" : "]}"));
    const Json sent = Json::parse(Sent(text));
    CHECK(sent["server_list"].size() == 8'192);
    CHECK(sent["server_count"] == "8192");
  }
}
