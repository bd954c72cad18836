// Reads a rank table: which rank of a job runs on which device of which node.
//
// Supports every form that training jobs on Ascend use in practice (docs/rank-tables.md):
// server_list (HCCL 1.0, 1.2, OXC 1.4, ClusterD's job summary), rank_list (2.0), group_list (0.1
// "lab" and "cloud") and node_list (1.1). The result has only the mapping; job signals, which need
// more of a table, read the raw text again. The rules, with their sources, are in
// tests/data/ranktables/README.md.
//
// Pure: no I/O, no clock.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::rank_table {

// In a ClusterD table, the device_id of a rank that runs on the host's processor.
inline constexpr std::string_view kHostDevice = "-1";

struct RankPlace {
  std::int32_t rank = 0;
  std::int32_t device = -1;  // physical id; -1: the rank runs on the host's processor
  std::uint32_t node = 0;    // index into RankTable::nodes

  bool operator==(const RankPlace&) const = default;
};

struct TableNode {
  // server_name, else server_id, else host_ip; node_addr in 1.1; net_instance_id of net_layer 0 in
  // 2.0. Unique in the table, without control characters. Empty if a 2.0 table does not name the
  // node.
  std::string name;
  // IP addresses of the host (host_ip; 2.0: addresses of net_layer 3) that no other node of the
  // table has. They identify the node's agent if no agent has the name. Never the name itself.
  std::vector<std::string> aliases;
};

// How the ranks of a table without rank ids are numbered. Nothing in such a table says which of the
// two its launcher used.
enum class RankOrder {
  kUnspecified,
  kServer,  // by server_id as text ("192.0.2.10" before "192.0.2.9"), then device id, as HCCL does
  kPod,     // by the index at the end of pod_name ("job-2" before "job-10"), then device id
};

// Invariants:
// 1. Ranks are unique and ascend.
// 2. A device of a node, except -1, appears once.
// 3. Every node has a rank.
struct RankTable {
  std::vector<TableNode> nodes;  // in the order of the table
  std::vector<RankPlace> ranks;
  std::vector<std::string> warnings;  // at most one of each kind, each under 1 KB, without source
  // kServer or kPod: the table has no rank ids, and its ranks were numbered in this order.
  RankOrder rank_order = RankOrder::kUnspecified;
  // The two orders number the ranks differently, and ReadingOptions names neither: the ranks may be
  // numbered wrongly.
  bool rank_order_in_doubt = false;
};

struct RankTableLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::uint32_t ranks = 65'536;     // also the bound of rank ids; documented for 2.0
  std::uint32_t device_id_v1 = 15;  // the highest device id before 2.0; 7 on the first 910
  std::uint32_t device_id_v2 = 64;  // the highest device id in 2.0
};

struct ReadingOptions {
  RankTableLimits limits = {};
  // For tables without rank ids. kUnspecified: kServer is used, with a warning if kPod differs.
  // kPod: a table whose pod names do not number all its ranks is rejected.
  RankOrder rank_order = RankOrder::kUnspecified;
};

enum class TableVerdict {
  kAccept,
  kAcceptWarn,  // the mapping is safe, but the user should see the warnings
  kNotReady,    // may become valid soon: empty, half written, or its status is initializing
  kReject,
};

std::string_view VerdictName(TableVerdict verdict);  // accept, accept-warn, not-ready, reject

struct TableReading {
  TableVerdict verdict = TableVerdict::kReject;
  RankTable table;    // empty unless accepted
  std::string error;  // empty if accepted; else source, line and value, valid UTF-8 under 1 KB
  // The text of the table, if accepted and different from the text that was read: taken out of a
  // ConfigMap, without blanks around names and addresses, and with the rank ids that
  // ReadingOptions::rank_order gives. Reading it with any options gives the same nodes and ranks.
  std::string text;

  bool accepted() const {
    return verdict == TableVerdict::kAccept || verdict == TableVerdict::kAcceptWarn;
  }
  // The text to store and convert. read: the text that was read; must outlive the result.
  std::string_view TableText(std::string_view read) const {
    return text.empty() ? read : std::string_view(text);
  }
};

// text: the content of the file; any bytes are allowed. source: the file or job, for errors. Time
// is linear in the size of text. Besides the result it needs a few dozen bytes of memory per rank.
TableReading ReadRankTable(std::string_view text, std::string_view source,
                           const ReadingOptions& options = {});

}  // namespace assay::rank_table
