// docs/run.md contains the transition tables of the code.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "core/node/rank_phase.h"
#include "core/part_state.h"
#include "core/run_state.h"

namespace assay::core {
namespace {

// The text between the heading and the next heading or the end.
std::string SectionOf(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find("\n## " + heading + "\n");
  if (begin == std::string::npos) return "no section " + heading;
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

}  // namespace

TEST_CASE("docs/run.md contains the present transition tables") {
  std::ifstream file(ASSAY_DOCS "/run.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::pair<const char*, std::string> tables[] = {
      {"Run", RunTable().Markdown()},
      {"Part", PartTable().Markdown()},
      {"Rank", node::RankTable().Markdown()},
  };
  for (const auto& [heading, table] : tables) {
    INFO("the section " << heading << " must end with:\n" << table);
    CHECK(SectionOf(page, heading).ends_with("\n" + table));
  }
}

}  // namespace assay::core
