// Applies spool records to the state they describe.
#include <algorithm>

#include "core/node/supervisor.h"

namespace assay::core::node {
namespace {

SpooledRank* FindOp(const OutcomeKey& key, Spooled* spooled) {
  const auto run = spooled->find(key.run);
  if (run == spooled->end()) return nullptr;
  std::vector<SpooledRank>& ranks = run->second.ranks;
  const auto rank = std::lower_bound(
      ranks.begin(), ranks.end(), key.rank,
      [](const SpooledRank& have, std::int32_t want) { return have.assigned.rank < want; });
  if (rank == ranks.end() || rank->assigned.rank != key.rank) return nullptr;
  return rank->assigned.ops.Has(key.op) ? &*rank : nullptr;
}

void On(const SpoolRun& record, Spooled* spooled) {
  const auto [at, added] = spooled->try_emplace(record.assign.run);
  if (!added) return;
  SpooledRun& run = at->second;
  run.assign = record.assign;
  run.assign.ranks.clear();
  for (const AssignedRank& assigned : record.assign.ranks) {
    run.ranks.emplace_back().assigned = assigned;
  }
}

void On(const SpoolStarted& record, Spooled* spooled) {
  const auto run = spooled->find(record.run);
  if (run != spooled->end()) run->second.started = true;
}

void On(const SpoolBegun& record, Spooled* spooled) {
  SpooledRank* rank = FindOp(record.key, spooled);
  if (rank == nullptr) return;
  rank->begun.Add(record.key.op);
  rank->begun_at[record.key.op] = record.at;
}

void On(const SpoolOutcome& record, Spooled* spooled) {
  SpooledRank* rank = FindOp(record.key, spooled);
  if (rank == nullptr || rank->answered.Has(record.key.op)) return;
  rank->answered.Add(record.key.op);
  rank->outcomes[record.key.op] = record.outcome;
}

void On(const SpoolAcked& record, Spooled* spooled) {
  SpooledRank* rank = FindOp(record.key, spooled);
  if (rank != nullptr && rank->answered.Has(record.key.op)) rank->acked.Add(record.key.op);
}

void On(const SpoolDrop& record, Spooled* spooled) { spooled->erase(record.run); }

}  // namespace

void Apply(const SpoolRecord& record, Spooled* spooled) {
  std::visit([spooled](const auto& one) { On(one, spooled); }, record);
}

}  // namespace assay::core::node
