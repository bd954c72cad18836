// Tables without rank ids: the order by server, the order by pod, and the doubt between them.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rank_table/hccl_json.h"
#include "rank_table/rank_table.h"
#include "tests/rank_table/invariants.h"

using namespace assay::rank_table;

namespace {

struct Pod {
  std::string name;  // "" for none
  std::string server;
  std::vector<int> devices;
};

std::string Table(const std::vector<Pod>& pods, const std::string& device_more = "") {
  std::string text;
  for (const Pod& pod : pods) {
    text += text.empty() ? "" : ",";
    text += R"({"server_id":")" + pod.server + R"(",)";
    if (!pod.name.empty()) text += R"("pod_name":")" + pod.name + R"(",)";
    text += R"("devices":[)";
    for (const int device : pod.devices) {
      if (text.back() != '[') text += ',';
      text += R"({"device_id":)" + std::to_string(device) + device_more + "}";
    }
    text += "]}";
  }
  return R"({"status":"completed","group_list":[{"instance_list":[)" + text + "]}]}";
}

TableReading Read(const std::string& text, RankOrder order = RankOrder::kUnspecified) {
  TableReading reading = ReadRankTable(text, "t", {.rank_order = order});
  INFO(text);
  CHECK(BrokenInvariant(reading) == "");
  return reading;
}

// The servers in the order of the ranks.
std::vector<std::string> Servers(const TableReading& reading) {
  std::vector<std::string> servers;
  for (const RankPlace& place : reading.table.ranks) {
    servers.push_back(reading.table.nodes[place.node].name);
  }
  return servers;
}

const std::vector<Pod> kDiffering = {{"job-10", "a", {0}}, {"job-2", "b", {0}}};

}  // namespace

TEST_CASE("an order that is not named is by server, with a warning if the pods differ") {
  const TableReading reading = Read(Table(kDiffering));
  CHECK(reading.verdict == TableVerdict::kAcceptWarn);
  CHECK(Servers(reading) == std::vector<std::string>{"a", "b"});
  CHECK(reading.table.rank_order == RankOrder::kServer);
  CHECK(reading.table.rank_order_in_doubt);
  CHECK(reading.table.warnings ==
        std::vector<std::string>{
            "the table has no rank ids, and two orders give different ones: by server_id as text, "
            "rank 0 is a device 0; by the index at the end of pod_name, it is b device 0. The "
            "order by server_id was used"});
  CHECK(reading.text.empty());
}

TEST_CASE("a named order is used without a warning") {
  const TableReading by_server = Read(Table(kDiffering), RankOrder::kServer);
  CHECK(by_server.verdict == TableVerdict::kAccept);
  CHECK(Servers(by_server) == std::vector<std::string>{"a", "b"});
  CHECK(by_server.table.rank_order == RankOrder::kServer);
  CHECK_FALSE(by_server.table.rank_order_in_doubt);

  const TableReading by_pod = Read(Table(kDiffering), RankOrder::kPod);
  CHECK(by_pod.verdict == TableVerdict::kAccept);
  CHECK(Servers(by_pod) == std::vector<std::string>{"b", "a"});
  CHECK(by_pod.table.rank_order == RankOrder::kPod);
  CHECK_FALSE(by_pod.table.rank_order_in_doubt);
}

TEST_CASE("the corrected text states the rank ids of a named order") {
  for (const char* more : {"", R"(,"rank_id":null)", R"(,"rankid":null)"}) {
    const TableReading by_pod = Read(Table(kDiffering, more), RankOrder::kPod);
    REQUIRE(by_pod.accepted());
    CHECK(by_pod.text.find(R"("rank_id":"1")") < by_pod.text.find(R"("rank_id":"0")"));
    const TableReading again = Read(by_pod.text);
    CHECK(again.verdict == TableVerdict::kAccept);
    CHECK(again.table.ranks == by_pod.table.ranks);
    CHECK(again.table.rank_order == RankOrder::kUnspecified);
    CHECK(HcclJson(by_pod.text, by_pod.table) == HcclJson(by_pod.text, again.table));
  }
}

TEST_CASE("there is no doubt if the orders agree or the pods have no order") {
  for (const std::vector<Pod>& pods :
       std::vector<std::vector<Pod>>{{{"job-2", "a", {1, 0}}, {"job-10", "b", {0}}},
                                     {{"job-0", "b", {0}}, {"", "a", {0}}},
                                     {{"job-0", "b", {0}}, {"job-x1", "a", {0}}},
                                     {{"ps-0", "b", {0}}, {"worker-0", "a", {0}}},
                                     {{"job-99999999999", "a", {0}}, {"job-1", "b", {0}}}}) {
    const TableReading reading = Read(Table(pods));
    CHECK(reading.verdict == TableVerdict::kAccept);
    CHECK(reading.table.rank_order == RankOrder::kServer);
    CHECK_FALSE(reading.table.rank_order_in_doubt);
  }
}

TEST_CASE("two pods on one server are numbered one after the other by pod") {
  const std::vector<Pod> pods = {{"p-1", "a", {0, 2}}, {"p-0", "a", {3, 1}}};
  const TableReading by_pod = Read(Table(pods), RankOrder::kPod);
  CHECK(by_pod.table.ranks == std::vector<RankPlace>{{0, 1, 0}, {1, 3, 0}, {2, 0, 0}, {3, 2, 0}});
  CHECK(Read(Table(pods)).table.rank_order_in_doubt);
}

TEST_CASE("the order by pod is refused if the pods do not number all ranks") {
  const auto error = [](const std::vector<Pod>& pods) {
    const TableReading reading = Read(Table(pods), RankOrder::kPod);
    CHECK(reading.verdict == TableVerdict::kReject);
    return reading.error;
  };
  CHECK(error({{"job-0", "a", {0}}, {"", "b", {0}}}) ==
        "t: ranks cannot be numbered by pod: group 0 instance 1 has no pod_name");
  CHECK(error({{"job-x", "a", {0}}}) ==
        "t: ranks cannot be numbered by pod: group 0 instance 0: pod_name \"job-x\" does not end "
        "in an index such as -0");
  CHECK(error({{"ps-0", "a", {0}}, {"worker-0", "b", {0}}}) ==
        "t: ranks cannot be numbered by pod: group 0 instance 1: pod_name \"worker-0\" has the "
        "index of another pod, 0");
}

TEST_CASE("the order does not matter to a table with rank ids") {
  const std::string text =
      R"({"status":"completed","group_list":[{"instance_list":[
          {"server_id":"a","pod_name":"p-1","devices":[{"device_id":0,"rank_id":0}]},
          {"server_id":"b","pod_name":"p-0","devices":[{"device_id":0,"rank_id":1}]}]}]})";
  for (const RankOrder order : {RankOrder::kUnspecified, RankOrder::kServer, RankOrder::kPod}) {
    const TableReading reading = Read(text, order);
    CHECK(reading.verdict == TableVerdict::kAccept);
    CHECK(Servers(reading) == std::vector<std::string>{"a", "b"});
    CHECK(reading.table.rank_order == RankOrder::kUnspecified);
    CHECK(reading.text.empty());
  }
}

TEST_CASE("the reported table is numbered by pod when asked to") {
  std::ifstream file(ASSAY_TEST_DATA "/ranktables/81_grouplist_cloud_pod_order.json");
  REQUIRE(file.is_open());
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const TableReading reading = Read(text, RankOrder::kPod);
  CHECK(reading.verdict == TableVerdict::kAccept);
  const std::vector<std::string> servers = Servers(reading);
  REQUIRE(servers.size() == 12);
  CHECK(servers[0] == "192.0.2.79");
  CHECK(servers[4] == "192.0.2.8");
  CHECK(servers[8] == "192.0.2.142");
}
