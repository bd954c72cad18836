// The context of one step of the cluster: the time, and the output for records and effects.
// Internal to the core.
#pragma once

#include <string>
#include <utility>

#include "core/effect.h"

namespace assay::core::cluster {

// Made for each step. REQUIRES: out outlives it.
struct Stepping {
  Ms now = 0;
  Output* out = nullptr;

  void Store(Record record) const { out->records.push_back(std::move(record)); }
  void Do(Effect effect) const { out->effects.push_back(std::move(effect)); }
  void Note(std::string kind, std::string job, RunId run, std::string node,
            std::string text) const {
    Store(AddEvent{now, std::move(kind), std::move(job), run, std::move(node), std::move(text)});
  }
};

}  // namespace assay::core::cluster
