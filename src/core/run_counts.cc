#include "core/run_counts.h"

namespace assay::core {

void RunCounts::Add(const RankTest& rank) {
  bool faulty = false;
  for (const Op op : rank.answered) {
    const OutcomeCode code = rank.outcomes[op].code;
    ++by_code[static_cast<std::size_t>(code)];
    faulty = faulty || IsFault(code);
  }
  answered_ranks += rank.done() ? 1 : 0;
  faulty_ranks += faulty ? 1 : 0;
}

}  // namespace assay::core
