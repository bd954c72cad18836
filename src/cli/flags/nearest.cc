#include "cli/flags/nearest.h"

#include <algorithm>

namespace assay::cli::flags {
namespace {

// Longer words are not compared: they are not typing errors.
constexpr std::size_t kWordMax = 64;

std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kWordMax) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_edits = 0;
  for (const std::string& one : known) {
    if (one.size() > kWordMax) continue;
    const std::size_t edits = Edits(word, one);
    if (edits > std::max(word.size(), one.size()) / 3) continue;
    if (best && edits >= best_edits) continue;
    best = one;
    best_edits = edits;
  }
  return best;
}

}  // namespace assay::cli::flags
