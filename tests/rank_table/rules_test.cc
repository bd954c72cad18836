// Tests each rule on its own. For readability the tables here are one line, with ' in place of ".
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "rank_table/rank_table.h"
#include "tests/rank_table/invariants.h"

using namespace assay::rank_table;

namespace {

std::string Json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

TableReading Read(const std::string& text, const RankTableLimits& limits = {}) {
  TableReading reading = ReadRankTable(Json(text), "t", {.limits = limits});
  INFO(text);
  CHECK(BrokenInvariant(reading) == "");
  return reading;
}

// A device with this rank and id, and with the members in `more`.
std::string Device(int rank, int id, const std::string& more = "") {
  return "{'device_id':'" + std::to_string(id) + "','rank_id':'" + std::to_string(rank) + "'" +
         (more.empty() ? "" : "," + more) + "}";
}

std::string Server(const std::string& names, const std::string& devices) {
  return "{" + names + ",'device':[" + devices + "]}";
}

std::string Table(const std::string& servers, const std::string& more = "'version':'1.0'") {
  return "{'status':'completed'," + more + ",'server_list':[" + servers + "]}";
}

std::string Clusterd(const std::string& servers, const std::string& more = "'total':1") {
  return "{'status':'complete'," + more + ",'server_list':[" + servers + "]}";
}

std::string Group(const std::string& instances, const std::string& more = "'group_name':''") {
  return "{'status':'completed','group_list':[{" + more + ",'instance_list':[" + instances + "]}]}";
}

// A 2.0 rank on a node (net_layer 0), with the levels in `more`.
std::string Rank(int rank, int device, const std::string& node, const std::string& more = "") {
  return "{'rank_id':" + std::to_string(rank) + ",'device_id':" + std::to_string(device) +
         ",'level_list':[{'net_layer':0,'net_instance_id':'" + node + "','rank_addr_list':[]}" +
         (more.empty() ? "" : "," + more) + "]}";
}

std::string RankList(const std::string& ranks, const std::string& more = "'version':'2.0'") {
  return "{" + more + ",'rank_list':[" + ranks + "]}";
}

const std::string kOne = Server("'server_id':'n'", Device(0, 0));

void Accepts(const std::string& text) {
  const TableReading reading = Read(text);
  INFO(text << "\n" << reading.error);
  for (const std::string& warning : reading.table.warnings) UNSCOPED_INFO(warning);
  CHECK(reading.verdict == TableVerdict::kAccept);
}

void Warns(const std::string& text, const std::string& warning) {
  const TableReading reading = Read(text);
  INFO(text << "\n" << reading.error << "\nwanted: " << Json(warning));
  for (const std::string& other : reading.table.warnings) UNSCOPED_INFO(other);
  CHECK(reading.verdict == TableVerdict::kAcceptWarn);
  const auto& warnings = reading.table.warnings;
  CHECK(std::count(warnings.begin(), warnings.end(), Json(warning)) == 1);
}

void Rejects(const std::string& text, const std::string& error) {
  const TableReading reading = Read(text);
  INFO(text << "\n" << reading.error << "\nwanted: " << Json(error));
  CHECK(reading.verdict == TableVerdict::kReject);
  CHECK(reading.error.find(Json(error)) != std::string::npos);
}

}  // namespace

TEST_CASE("rule 1: the first list in the table decides the form") {
  CHECK(Read("{'status':'completed','rank_list':[" + Rank(0, 1, "b") + "],'server_list':[" + kOne +
             "]}")
            .table.nodes[0]
            .name == "n");
  Accepts("{'status':'completed','server_list':null,'rank_list':[" + Rank(0, 1, "b") + "]}");
  Warns(RankList(Rank(0, 1, "b"), "'status':'completed','version':'1.0'"),
        "version '1.0' does not match rank_list, read as rank_list table");
  Warns(Table(kOne, "'version':'1.1'"),
        "version '1.1' does not match server_list, read as server_list table");
  Warns(Table(kOne, "'version':7"), "unknown version '7', read as server_list table");
  Accepts(Table(kOne, "'version':''"));
  Accepts(Table(kOne, "'other':1"));
  Accepts(Table(kOne, "'version':1.0"));
  Rejects(Table(kOne, "'version':[]"), "version is an array, not a string");
  Rejects("{'status':'completed','x':1,'y':2}",
          "no server_list, rank_list, group_list or node_list (found status, x, y)");
  Rejects("{}", "no server_list, rank_list, group_list or node_list (the table is empty)");
  Rejects("{'status':'completed','decode_device_list':[]}",
          "(found decode_device_list: a vLLM-Ascend PD table");
  Rejects("[]", "expected a JSON object, found an array");
  Rejects("3", "expected a JSON object, found a number");
  Rejects("{'status':'completed','server_list':{}}", "server_list is an object, not an array");
  Rejects(Table("1"), "server_list entry 0 is a number, not an object");
  Rejects(Table(Server("'server_id':'n'", "[]")),
          "server 0 (n): device entry 0 is an array, not an object");
}

TEST_CASE("rule 2: which field names a node, and when entries are merged into one node") {
  const std::string two = Device(0, 0) + "," + Device(1, 1);
  const auto name = [](const std::string& names) {
    const TableReading reading = Read(Table(Server(names, Device(0, 0))));
    REQUIRE(reading.table.nodes.size() == 1);
    return reading.table.nodes[0].name;
  };
  CHECK(name("'host_ip':'192.0.2.1','server_id':'i','server_name':'s'") == "s");
  CHECK(name("'host_ip':'192.0.2.1','server_id':'i'") == "i");
  CHECK(name("'host_ip':'192.0.2.1'") == "192.0.2.1");
  CHECK(name("'server_name':'','server_id':null,'host_ip':'192.0.2.1'") == "192.0.2.1");
  CHECK(name("'server_id':12") == "12");
  CHECK(name("'server_id':'\\u8282\\u70b9'") == "节点");
  Rejects(Table("{'device':[" + two + "]}"), "server 0 has no server_name, server_id or host_ip");
  Rejects(Table(Server("'server_id':{}", two)), "server 0: server_id is an object, not a string");
  Rejects(Table(Server("'server_id':-1", two)), "server 0: server_id is -1, not a string");
  Rejects(Table(Server("'server_id':'a\\nb'", two)),
          "server_id 'a\\nb' contains a control character");

  const std::string a = Server("'server_id':'a'", Device(0, 0));
  const std::string again = Server("'server_id':'a'", Device(1, 1));
  Rejects(Table(a + "," + again), "server_id 'a' appears twice (servers 0 and 1)");
  Rejects("{'status':'completed','node_list':[{'node_addr':'a','ranks':[" + Device(0, 0) +
              "]},{'node_addr':'a','ranks':[" + Device(1, 1) + "]}]}",
          "node_addr 'a' appears twice (nodes 0 and 1)");
  Accepts(Clusterd(a + "," + again));
  const TableReading merged = Read(Table(Server("'server_name':'w','server_id':'x'", Device(0, 0)) +
                                         "," + Server("'server_name':'w'", Device(1, 1))));
  CHECK(merged.verdict == TableVerdict::kAccept);
  CHECK(merged.table.nodes.size() == 1);
  CHECK(merged.table.ranks.size() == 2);
}

TEST_CASE("blanks around names and addresses are trimmed, blanks inside are refused") {
  Warns(Table(Server("'server_id':' n\\t\\n'", Device(0, 0))),
        "server 0: server_id ' n\\t\\n' has blanks around it, read as 'n'");
  Warns(Table(Server("'server_id':'a','host_ip':'192.0.2.1 '", Device(0, 0)) + "," +
              Server("'server_id':'b','host_ip':' 192.0.2.2'", Device(1, 0))),
        "server 0: host_ip '192.0.2.1 ' has blanks around it, read as '192.0.2.1' (and 1 more)");
  const TableReading trimmed =
      Read(Table(Server("'host_ip':'192.0.2.1 ','server_id':' \\u0022a '", Device(0, 0)) + "," +
                 Server("'server_id':'b'", Device(1, 0))));
  REQUIRE(trimmed.table.nodes.size() == 2);
  CHECK(trimmed.table.nodes[0].name == "\"a");
  CHECK(trimmed.table.nodes[0].aliases == std::vector<std::string>{"192.0.2.1"});
  CHECK(trimmed.text ==
        Json(Table(Server("'host_ip':'192.0.2.1','server_id':'\\'a'", Device(0, 0)) + "," +
                   Server("'server_id':'b'", Device(1, 0)))));
  // A name that consists of blanks is absent.
  CHECK(
      Read(Table(Server("'server_name':' ','server_id':'n'", Device(0, 0)))).table.nodes[0].name ==
      "n");
  Rejects(Table(Server("'server_id':' '", Device(0, 0))),
          "server 0 has no server_name, server_id or host_ip");
  Rejects(Table(kOne + "," + Server("'server_id':'n '", Device(1, 0))),
          "server_id 'n' appears twice (servers 0 and 1)");
  Rejects(Table(Server("'server_name':'a b'", Device(0, 0))),
          "server 0: server_name 'a b' contains a blank: write one name or one address");
  Rejects(Table(Server("'server_id':'n','host_ip':'192.0.2.1 192.0.2.2'", Device(0, 0))),
          "server 0: host_ip '192.0.2.1 192.0.2.2' contains a blank");
  Rejects(Group("{'server_id':'a b','devices':[{'device_id':0}]}"),
          "group 0 instance 0: server_id 'a b' contains a blank");
  const auto host = [](const std::string& address) {
    return RankList(Rank(
        0, 0, "a ", "{'net_layer':3,'rank_addr_list':[{'addr':'" + address + "','ports':[]}]}"));
  };
  const TableReading levels = Read(host(" 192.0.2.1"));
  CHECK(levels.verdict == TableVerdict::kAcceptWarn);
  CHECK(levels.table.nodes[0].name == "a");
  CHECK(levels.table.nodes[0].aliases == std::vector<std::string>{"192.0.2.1"});
  Rejects(host("192.0.2.1 192.0.2.2"),
          "rank_list entry 0: addr '192.0.2.1 192.0.2.2' contains a blank");
  // A super pod may name its server with or without the blanks.
  Warns(Table(Server("'server_id':'n '", Device(0, 0)) + "," +
                  Server("'server_id':'m'", Device(1, 0)),
              "'version':'1.2','super_pod_list':[{'server_list':[{'server_id':'n'},"
              "{'server_id':' m'}]}]"),
        "server 0: server_id 'n ' has blanks around it, read as 'n'");
}

TEST_CASE("a loopback address names no machine") {
  const auto warning = [](const std::string& name) {
    return name +
           " is the same on every machine and names none: write the name or an address of "
           "the node, as `assay node list` prints them";
  };
  for (const char* name : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    Warns(Table(Server("'server_id':'" + std::string(name) + "'", Device(0, 0))),
          warning("server_id '" + std::string(name) + "'"));
  }
  Warns(Table(Server("'server_id':'','host_ip':'127.0.0.1'", Device(0, 0))),
        warning("host_ip '127.0.0.1'"));
  Warns(Table(Server("'server_id':'::1'", Device(0, 0)) + "," +
              Server("'server_id':'localhost'", Device(1, 0))),
        warning("server_id '::1'") + " (and 1 more)");
  Accepts(Table(Server("'server_name':'n','server_id':'127.0.0.1'", Device(0, 0))));
  Accepts(Table(Server("'server_id':'127'", Device(0, 0))));
}

TEST_CASE("rule 3: ids and counts are strings or non-negative integers") {
  const auto device = [](const std::string& id) {
    return Table(Server("'server_id':'n'", "{'device_id':" + id + ",'rank_id':0}"));
  };
  for (const char* good : {"7", "'7'", "'07'"}) {
    CHECK(Read(device(good)).table.ranks == std::vector<RankPlace>{{0, 7, 0}});
  }
  for (const char* bad : {"7.0", "7e0", "'7.0'", "''", "' 7'", "'0x7'", "'seven'", "true", "[7]"}) {
    Rejects(device(bad), "not a whole number");
  }
  Rejects(device("'seven'"), "n: device_id 'seven' is not a whole number");
  Rejects(device("{}"), "n: device_id is an object, not a whole number");
  for (const char* bad :
       {"-1", "'-1'", "16", "'16'", "18446744073709551616", "'99999999999999999999'"}) {
    Rejects(device(bad), " out of range 0..15");
  }
  Rejects(device("null"), "n: device_id is missing");
  const auto rank = [](const std::string& id) {
    return Table(Server("'server_id':'n'", "{'device_id':3,'rank_id':" + id + "}"));
  };
  Rejects(rank("65536"), "n device 3: rank_id 65536 out of range 0..65535");
  Rejects(rank("'x'"), "n device 3: rank_id 'x' is not a whole number");
  Rejects(rank("null"), "n device 3: rank_id is missing");
  Accepts(rank("0,'rankid':'0'"));
  Rejects(rank("0,'rankid':'1'"), "server 0 (n): rank_id 0 and rankid '1' differ");
}

TEST_CASE("rule 4: status ready, not ready, missing or unknown") {
  Accepts(Table(kOne));
  Accepts(Clusterd(kOne));
  const auto status = [](const std::string& value) {
    return "{'status':" + value + ",'server_list':[" + kOne + "]}";
  };
  CHECK(Read(status("'initializing'")).verdict == TableVerdict::kNotReady);
  CHECK(Read("").verdict == TableVerdict::kNotReady);
  CHECK(Read(" \n").verdict == TableVerdict::kNotReady);
  CHECK(Read("\xEF\xBB\xBF").verdict == TableVerdict::kNotReady);
  CHECK(Read("").error == "t: file is empty: may still be being written");
  Rejects(status("'failed'"), "status is 'failed', neither completed (HCCL) nor complete");
  Rejects(status("''"), "status is ''");
  Rejects(status("1"), "status is 1");
  Rejects("{'server_list':[" + kOne + "]}", "status is missing");
  Rejects("{'group_list':[]}", "status is missing");
  Accepts(RankList(Rank(0, 0, "a")));
  Accepts(RankList(Rank(0, 0, "a"), "'status':'completed'"));
}

TEST_CASE("rule 5: rank ids") {
  const auto ranks = [](int a, int b, int c) {
    return Server("'server_id':'n'", Device(a, 0) + "," + Device(b, 1) + "," + Device(c, 2));
  };
  Accepts(Table(ranks(2, 0, 1)));
  Rejects(Table(ranks(0, 1, 1)), "rank_id 1 used by n device 1 and n device 2");
  Rejects(Table(ranks(0, 1, 3)), "rank ids are not 0..N-1: rank 2 missing, rank 3 >= 3 ranks");
  Rejects(Table(ranks(5, 6, 7)), "rank ids do not start at 0 (lowest is 5)");
  Rejects(Clusterd(ranks(0, 1, 1)), "rank_id 1 used by");
  Warns(Clusterd(ranks(1, 3, 9)), "rank ids are not contiguous: 0, 2, 4-8 missing");
  std::string many;
  for (int i = 0; i < 7; ++i) many += (i > 0 ? "," : "") + Device(2 * i + 1, i);
  Warns(Clusterd(Server("'server_id':'n'", many)),
        "rank ids are not contiguous: 0, 2, 4, 6 and 3 more gaps missing");
  Rejects(RankList(Rank(1, 0, "a")), "rank ids do not start at 0 (lowest is 1)");
  Rejects(RankList("{'device_id':0}"), "rank_list entry 0: rank_id is missing");
}

TEST_CASE("rule 6: devices") {
  Rejects(Table(Server("'server_id':'n'", Device(0, 3) + "," + Device(1, 3))),
          "n device 3 used by ranks 0 and 1");
  Rejects(Clusterd(Server("'server_name':'w'", Device(0, 3)) + "," +
                   Server("'server_name':'w'", Device(1, 3))),
          "w device 3 used by ranks 0 and 1");
  Rejects(RankList(Rank(0, 0, "a") + "," + Rank(1, 0, "a")), "a device 0 used by ranks 0 and 1");
  Accepts(RankList(Rank(0, 64, "a")));
  Rejects(RankList(Rank(0, 65, "a")), "a: device_id 65 out of range 0..64");
  Accepts(Table(Server("'server_id':'n'", Device(0, 15))));
  Accepts(Table(Server("'server_id':'n'", Device(0, 16)), "'version':'2.0'"));
  RankTableLimits first_910;
  first_910.device_id_v1 = 7;
  CHECK(Read(Table(Server("'server_id':'n'", Device(0, 7))), first_910).accepted());
  CHECK_FALSE(Read(Table(Server("'server_id':'n'", Device(0, 8))), first_910).accepted());
}

TEST_CASE("rules 7, (a), (c): fields that never affect the mapping") {
  const auto with = [](const std::string& more, const std::string& version = "1.0") {
    return Table(Server("'server_id':'n'", Device(0, 0, more) + "," + Device(1, 1)),
                 "'version':'" + version + "'");
  };
  for (const char* silent :
       {"''", "null", "'192.0.2.1'", "'2001:db8::1'", "'192.0.2.1,192.0.2.2'"}) {
    Accepts(with(std::string("'device_ip':") + silent));
  }
  Warns(with("'device_ip':'reserve'"), "device_ip 'reserve' is not an address (1 device)");
  Warns(with("'device_ip':5"), "device_ip 5 is not an address (1 device)");
  Warns(with("'device_ip':['192.0.2.1']"), "device_ip an array is not an address (1 device)");
  Warns(with("'super_device_id':''", "1.2"), "super_device_id is empty (1 device)");
  Accepts(with("'super_device_id':''"));
  Accepts(with("'super_device_id':'7'", "1.2"));
  Accepts(with("'backup_device_ip':'-','host_port':'x','device_port':[]"));
}

TEST_CASE("rule (b): addresses of hosts") {
  const auto host = [](const std::string& id, const std::string& ip, int rank) {
    return Server("'server_id':'" + id + "','host_ip':'" + ip + "'", Device(rank, 0));
  };
  const TableReading shared =
      Read(Table(host("a", "192.0.2.1", 0) + "," + host("b", "192.0.2.1", 1) + "," +
                 host("c", "192.0.2.3", 2)));
  CHECK(shared.table.warnings ==
        std::vector<std::string>{Json("host_ip '192.0.2.1' is shared by servers a and b")});
  REQUIRE(shared.table.nodes.size() == 3);
  CHECK(shared.table.nodes[0].aliases.empty());
  CHECK(shared.table.nodes[2].aliases == std::vector<std::string>{"192.0.2.3"});
  // An alias is never the node's own name, the name of another node, or a text that is not an
  // address.
  const TableReading names =
      Read(Table(host("192.0.2.1", "192.0.2.1", 0) + "," + host("b", "192.0.2.2", 1) + "," +
                 host("c", "reserve", 2) + "," + Server("'server_id':'192.0.2.2'", Device(3, 0))));
  CHECK(names.verdict == TableVerdict::kAccept);
  for (const TableNode& node : names.table.nodes) CHECK(node.aliases.empty());
}

TEST_CASE("rule (d): every server has a device") {
  Rejects(Table(kOne + "," + Server("'server_id':'m'", "")), "server 1 (m): device is empty");
  Rejects(Clusterd(Server("'server_name':'w'", "")), "server 0 (w): device is empty");
  Rejects(Table("{'server_id':'m'}"), "server 0 (m): device is missing");
  Rejects(Group("{'server_id':'m','devices':[]}"), "group 0 instance 0 (m): devices is empty");
  Rejects("{'status':'completed','node_list':[{'node_addr':'m','ranks':[]}]}",
          "node 0 (m): ranks is empty");
  Rejects("{'status':'completed','node_list':[]}", "node_list is empty");
  Rejects("{'status':'completed','group_list':[{}]}", "group 0: instance_list is missing");
}

TEST_CASE("rule (e): long ids and unfilled placeholders") {
  const auto id = [](std::size_t size) {
    return Table(Server("'server_id':'" + std::string(size, 'x') + "'", Device(0, 0)));
  };
  Accepts(id(64));
  Warns(id(65), "server 0: server_id '" + std::string(64, 'x') +
                    "...' is 65 characters long, more than the documented 64");
  CHECK(Read(id(4096)).verdict == TableVerdict::kAcceptWarn);
  Rejects(id(4097), "is 4097 characters long, more than 4096");
  for (const char* name : {"[server_id]", "<ip>", "${NODE}", "{{ node }}", "10.*.*.*"}) {
    Warns(Table(Server("'server_id':'" + std::string(name) + "'", Device(0, 0))),
          "server_id '" + std::string(name) + "' looks like an unfilled placeholder");
  }
  Accepts(Table(Server("'server_id':'[2001:db8::1]'", Device(0, 0))));
}

TEST_CASE("rule (f): the node of a 2.0 rank") {
  const auto host = [](const std::string& address) {
    return "{'net_layer':3,'net_instance_id':'c','rank_addr_list':[{'addr_type':'IPV4','addr':'" +
           address + "','ports':['1/0']}]}";
  };
  const TableReading reading =
      Read(RankList(Rank(0, 0, "a", host("192.0.2.1")) + "," + Rank(1, 1, "a", host("192.0.2.1")) +
                    "," + Rank(2, 0, "b", host("x"))));
  CHECK(reading.verdict == TableVerdict::kAccept);
  REQUIRE(reading.table.nodes.size() == 2);
  CHECK(reading.table.nodes[0].name == "a");
  CHECK(reading.table.nodes[0].aliases == std::vector<std::string>{"192.0.2.1"});
  CHECK(reading.table.nodes[1].aliases.empty());
  Warns(RankList(Rank(0, 0, "a", host("192.0.2.1")) + "," + Rank(1, 0, "b", host("192.0.2.1"))),
        "net_layer 3 address '192.0.2.1' is shared by nodes a and b");
  Warns(RankList("{'rank_id':0,'device_id':0},{'rank_id':1,'device_id':1,'level_list':[]}"),
        "rank 0 has no net_layer 0: node unknown (2 ranks)");
  Rejects(RankList("{'rank_id':0,'device_id':0},{'rank_id':1,'device_id':0}"),
          "unknown node device 0 used by ranks 0 and 1");
  const TableReading device_address =
      Read(RankList(Rank(0, 0, "a", "{'net_layer':1,'rank_addr_list':[{'addr':'198.51.100.1'}]}")));
  REQUIRE(device_address.verdict == TableVerdict::kAccept);
  CHECK(device_address.table.nodes[0].aliases.empty());
  Rejects(RankList(Rank(0, 0, "a", "{'net_layer':0}")), "two levels of net_layer 0");
  Rejects(RankList(Rank(0, 0, "a", "7")), "level_list has a number, not an object");
  Rejects(RankList(Rank(0, 0, "a", "{}")), "rank_list entry 0 has a level without net_layer");
}

TEST_CASE("rule 9: the documented limits of 2.0") {
  const auto list = [](const std::string& entry, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + entry;
    return text;
  };
  const auto addresses = [&](int count, int ports) {
    return RankList(Rank(0, 0, "a",
                         "{'net_layer':1,'rank_addr_list':[" +
                             list("{'ports':[" + list("'0/1'", ports) + "]}", count) + "]}"));
  };
  Accepts(RankList(Rank(0, 0, "a", list("{'net_layer':1}", 7))));
  Rejects(RankList(Rank(0, 0, "a", list("{'net_layer':1}", 8))),
          "rank_list entry 0: level_list has more than 8 entries");
  Accepts(addresses(24, 16));
  Rejects(addresses(25, 1), "rank_list entry 0: rank_addr_list has more than 24 entries");
  Rejects(addresses(1, 17), "rank_list entry 0: ports has more than 16 entries");
  Rejects(RankList("{'rank_id':0,'device_id':0,'level_list':7}"), "level_list is 7, not an array");
}

TEST_CASE("only in node lists can several ranks of one node have no device") {
  const std::string two = "{'rank_id':0},{'rank_id':1}";
  Warns("{'status':'completed','version':'1.1','node_list':[{'node_addr':'a','ranks':[" + two +
            "]}]}",
        "rank 0 on a has no device (and 1 more)");
  Rejects(Table(Server("'server_id':'n'", two)), "n: device_id is missing");
}

TEST_CASE("rule (g): declared counts match the listed entries") {
  Accepts(Table(kOne, "'server_count':1,'rank_count':'1','device_count':1"));
  Rejects(Table(kOne, "'server_count':2"), "server_count is 2 but server_list has 1 entry");
  Rejects(Table(kOne, "'server_count':'two'"), "server_count 'two' is not a whole number");
  Rejects(Table(kOne, "'rank_count':2"), "rank_count is 2 but the table lists 1 rank");
  Rejects(Table(Server("'server_id':'n','device_count':3", Device(0, 0))),
          "server 0 (n): device_count is 3 but device has 1 entry");
  Rejects(RankList(Rank(0, 0, "a"), "'rank_count':4"),
          "rank_count is 4 but the table lists 1 rank");
  const std::string instance = "{'server_id':'a','rank_id':0,'devices':[{'device_id':0}]}";
  Accepts(Group(instance, "'instance_count':1,'device_num':'1','server_num':1,'device_count':1"));
  Rejects(Group(instance, "'instance_count':2"),
          "group 0: instance_count is 2 but instance_list has 1 entry");
  Rejects(Group(instance, "'device_num':8"),
          "group 0: device_num is 8 but its instances have 1 device");
  Rejects(Group(instance, "'server_num':2"),
          "group 0: server_num is 2 but its instances are on 1 server");
  Rejects(
      "{'status':'completed','group_count':2,'group_list':[{'instance_list':[" + instance + "]}]}",
      "group_count is 2 but group_list has 1 entry");
}

TEST_CASE("group lists: rank ids in every entry, in none, or in some") {
  const auto instance = [](const std::string& server, const std::string& devices,
                           const std::string& more = "") {
    return "{'server_id':'" + server + "','devices':[" + devices + "]" + more + "}";
  };
  const TableReading implied = Read(Group(instance("b", "{'device_id':1},{'device_id':0}") + "," +
                                          instance("a", "{'device_id':5}")));
  CHECK(implied.table.ranks == std::vector<RankPlace>{{0, 5, 1}, {1, 0, 0}, {2, 1, 0}});
  Accepts(Group(instance("a", Device(0, 0) + "," + Device(1, 1))));
  Rejects(Group(instance("a", Device(0, 0) + ",{'device_id':1}")),
          "a device 1: rank_id is missing, but others have one");
  Rejects(Group(instance("a", "{'device_id':0},{'device_id':1}", ",'rank_id':0")),
          "group 0 instance 0 (a) has one rank_id but 2 devices");
}

TEST_CASE("super_pod_list names only servers in server_list") {
  const auto pods = [](const std::string& list) {
    return Table(kOne, "'version':'1.2','super_pod_list':" + list);
  };
  Accepts(pods("[{'super_pod_id':'0','server_list':[{'server_id':'n'}]}]"));
  Rejects(pods("[{'super_pod_id':'0','server_list':[{'server_id':'m'}]}]"),
          "super_pod_list: server m is not in server_list");
  for (const char* other : {"[]", "{}", "7", "null",
                            "[7,{'server_list':{}},{'server_list':[7,{},{'server_id':''}]}]"}) {
    Accepts(pods(other));
  }
}

TEST_CASE("super pod ids that appear twice are named") {
  const auto pods = [](const std::vector<std::string>& ids) {
    std::string list;
    for (const std::string& id : ids) {
      list += (list.empty() ? "" : ",") + ("{'super_pod_id':" + id) +
              ",'server_list':[{'server_id':'n'}]}";
    }
    return Table(kOne, "'version':'1.2','super_pod_list':[" + list + "]");
  };
  const auto warning = [](const std::string& ids) {
    return "super_pod_list has more than one super pod with super_pod_id " + ids +
           ": tables joined by hand need ids of their own for the super pods of each";
  };
  Accepts(pods({"'0'", "'1'"}));
  Accepts(pods({"''", "''", "null", "null"}));
  Warns(pods({"'0'", "'1'", "'0'", "'0'"}), warning("'0'"));
  Warns(pods({"0", "1", "1", "0"}), warning("0, 1"));
  Warns(pods({"0", "1", "2", "3", "4", "5", "0", "1", "2", "3", "4", "5"}),
        warning("0, 1, 2, 3 and 2 more"));
}

TEST_CASE("interleaved ranks give a warning") {
  const auto servers = [](std::vector<std::vector<int>> ranks) {
    std::string text;
    for (std::size_t s = 0; s < ranks.size(); ++s) {
      std::string devices;
      for (std::size_t d = 0; d < ranks[s].size(); ++d) {
        devices += (d > 0 ? "," : "") + Device(ranks[s][d], static_cast<int>(d));
      }
      text += (s > 0 ? "," : "") + Server("'server_id':'" + std::to_string(s) + "'", devices);
    }
    return Table(text);
  };
  Accepts(servers({{2, 3}, {0, 1}}));
  Warns(servers({{0, 2}, {1, 3}}), "ranks of servers 0 and 1 interleave");
  Warns(servers({{0, 5}, {1, 2}, {3, 4}}), "ranks of servers 0 and 1 interleave (and 1 more)");
}
