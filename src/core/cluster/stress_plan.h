// Decides whether a stress test may run and which executor runs which ranks, by ClusterD's rules
// and texts (docs/wire.md 3) and Assay's own (docs/wire.md 9: executor, devices under test
// elsewhere).
//
// Thread safety: a pure function.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/cluster/fleet.h"
#include "core/event.h"
#include "core/model.h"
#include "core/verdict.h"

namespace assay::core::cluster {

struct StressPlan {
  Executor executor = Executor::kAgent;
  OpSet ops;                    // the union of all ranks' ops
  std::vector<Part> parts;      // the chosen nodes, in the order of the rank table
  std::vector<RankTest> ranks;  // ascending by rank
};

// The state of the cluster that the decision depends on.
struct StressContext {
  const std::map<std::string, Job, std::less<>>* jobs = nullptr;
  const Fleet* fleet = nullptr;
  std::optional<RunId> open_run;  // of this job
  bool subscriber_attached = false;
  Ms now = 0;
};

std::variant<StressPlan, Refusal> PlanStress(const StressRequested& request,
                                             const StressContext& context);

}  // namespace assay::core::cluster
