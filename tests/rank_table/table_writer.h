// Writes random rank tables, each with the mapping that a reader must return; for property tests.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "rank_table/rank_table.h"

namespace assay::rank_table {

enum class WrittenForm { kServers, kClusterd, kOxc, kLab, kCloud, kNodes, kRanks };
inline constexpr WrittenForm kWrittenForms[] = {
    WrittenForm::kServers, WrittenForm::kClusterd, WrittenForm::kOxc,  WrittenForm::kLab,
    WrittenForm::kCloud,   WrittenForm::kNodes,    WrittenForm::kRanks};

struct WrittenTable {
  std::string text;
  std::vector<std::string> nodes;  // names
  std::vector<RankPlace> ranks;    // ascending
};

class TableWriter {
 public:
  explicit TableWriter(std::uint32_t seed) : random_(seed) {}

  // Nodes are listed in the order of their indexes. The ranks of a node are contiguous unless
  // shuffled.
  WrittenTable Write(WrittenForm form);

  std::size_t Below(std::size_t bound) { return random_() % bound; }
  bool Chance(unsigned percent) { return Below(100) < percent; }

 private:
  using Json = nlohmann::ordered_json;
  struct Member {
    std::string key;
    Json value;
  };

  WrittenTable Draw(WrittenForm form);
  Json Number(std::int64_t value);
  Json Object(std::vector<Member> members);
  Json Devices(const WrittenTable& table, std::uint32_t node, WrittenForm form);
  Json Servers(const WrittenTable& table, WrittenForm form);
  Json Instances(const WrittenTable& table, bool ranks);
  Json Ranks(const WrittenTable& table);
  std::string Text(const Json& json);

  std::mt19937 random_;
};

}  // namespace assay::rank_table
