// Files that are passed as a rank table although they are something else.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rank_table/hccl_json.h"
#include "rank_table/rank_table.h"
#include "tests/rank_table/invariants.h"

using namespace assay::rank_table;
using Json = nlohmann::ordered_json;

namespace {

const std::string kTable = R"({"status":"completed","server_list":[{"server_id":"a","device":[)"
                           R"({"device_id":"0","rank_id":"0"}]}]})";

TableReading Read(const std::string& text) {
  TableReading reading = ReadRankTable(text, "t");
  INFO(text);
  CHECK(BrokenInvariant(reading) == "");
  return reading;
}

std::string Map(const Json& data) {
  return Json{{"apiVersion", "v1"},
              {"kind", "ConfigMap"},
              {"metadata", {{"name", "m"}, {"namespace", "n"}}},
              {"data", data}}
      .dump(2);
}

std::string ErrorOf(const std::string& text) {
  const TableReading reading = Read(text);
  CHECK(reading.verdict == TableVerdict::kReject);
  return reading.error;
}

}  // namespace

TEST_CASE("the table of a ConfigMap is read, whatever its key is called") {
  for (const char* key : {"hccl.json", "ranktable"}) {
    const TableReading reading = Read(Map({{"total", "1"}, {key, kTable}, {"version", "7"}}));
    CHECK(reading.verdict == TableVerdict::kAcceptWarn);
    CHECK(reading.table.warnings ==
          std::vector<std::string>{"the table was taken from data[\"" + std::string(key) +
                                   "\"] of the Kubernetes ConfigMap \"m\""});
    CHECK(reading.table.ranks == std::vector<RankPlace>{{0, 0, 0}});
    CHECK(reading.text == kTable);
    CHECK(HcclJson(reading.TableText("other"), reading.table) ==
          HcclJson(kTable, ReadRankTable(kTable, "").table));
  }
  // hccl.json is the table even if other members contain JSON.
  CHECK(Read(Map({{"a", "{}"}, {"hccl.json", kTable}, {"z", "{}"}})).text == kTable);
}

TEST_CASE("the table of a ConfigMap is checked as any other, and its errors say where it is") {
  const std::string of = "data[\"hccl.json\"] of the Kubernetes ConfigMap \"m\"";
  CHECK(
      ErrorOf(Map({{"hccl.json", "{\"status\":\"completed\"}"}})) ==
      "t: the table in " + of +
          ": no server_list, rank_list, group_list or node_list (found status): not a rank table");
  CHECK(ErrorOf(Map({{"hccl.json", "{,}"}})).find("t: the table in " + of + ": line 1: ") == 0);
  // A ConfigMap in a ConfigMap is not followed.
  CHECK(ErrorOf(Map({{"hccl.json", Map({{"hccl.json", kTable}})}})).find("not a rank table") !=
        std::string::npos);
  const TableReading early = Read(Map({{"hccl.json", R"({"status":"initializing"})"}}));
  CHECK(early.verdict == TableVerdict::kNotReady);
  CHECK(early.error == "t: the table in " + of + ": table not ready: status is initializing");
  const TableReading empty = Read(Map({{"hccl.json", ""}}));
  CHECK(empty.verdict == TableVerdict::kNotReady);
  CHECK(empty.error == "t: " + of + " is empty: may still be being written");
}

TEST_CASE("a ConfigMap without a table, or with several, is refused with its keys") {
  CHECK(ErrorOf(Map({{"a", "x"}, {"b", "[]"}})) ==
        "t: a Kubernetes ConfigMap without a rank table: no text in data is a JSON object "
        "(found a, b)");
  for (const Json& none : {Json::object(), Json(nullptr), Json(7)}) {
    CHECK(ErrorOf(Map(none)) ==
          "t: a Kubernetes ConfigMap without a rank table: data is empty or missing");
  }
  CHECK(ErrorOf(Map({{"a", kTable}, {"b", kTable}})) ==
        "t: a Kubernetes ConfigMap with several JSON texts in data (a, b): save the one that is "
        "the rank table in a file of its own");
  CHECK(ErrorOf(R"({"apiVersion":"v1","kind":"List","items":[]})") ==
        "t: a list of Kubernetes objects, not a rank table: print the ConfigMap alone, with "
        "kubectl get configmap NAME -o json");
  CHECK(ErrorOf(R"({"apiVersion":"v1","kind":"Pod"})").find("(found apiVersion, kind)") !=
        std::string::npos);
}

TEST_CASE("a Kubernetes object in YAML is named, with the command that extracts the table") {
  CHECK(ErrorOf("apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: 'm'\r\n"
                "  namespace: n\r\ndata:\r\n  other: x\r\n  rank.table: |\r\n    {}\r\n") ==
        "t: a Kubernetes ConfigMap in YAML, not a rank table: write its table to a file with "
        "kubectl get configmap m -n n -o jsonpath='{.data.rank\\.table}' > hccl.json");
  // A name that Kubernetes does not allow never becomes part of a command.
  CHECK(ErrorOf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: $(reboot)\n") ==
        "t: a Kubernetes ConfigMap in YAML, not a rank table: write its table to a file with "
        "kubectl get configmap NAME -o jsonpath='{.data.hccl\\.json}' > hccl.json");
  CHECK(ErrorOf("apiVersion: v1\nkind: Pod\n") ==
        "t: a Kubernetes object of kind \"Pod\" in YAML, not a rank table");
  CHECK(ErrorOf("kind: ConfigMap\n").find("line 1: ") != std::string::npos);
}

TEST_CASE("only a file without rank ids is a root info file") {
  const auto list = [](const std::string& rank) {
    return R"({"version":"2.0","topo_file_path":"/t.json","rank_list":[{"device_id":0,)" + rank +
           "}]}";
  };
  CHECK(ErrorOf(list("\"local_id\":0")).find("the root info file of one host") !=
        std::string::npos);
  CHECK(Read(list("\"rank_id\":0")).accepted());
  CHECK(ErrorOf(list("\"rank_id\":7")).find("rank ids do not start at 0") != std::string::npos);
  CHECK(ErrorOf(R"({"rank_list":[{"device_id":0}]})").find("rank_id is missing") !=
        std::string::npos);
}
