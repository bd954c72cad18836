// The coordinator's store as a plain value: how each record changes it, and what a starting
// coordinator loads from it. An independent implementation of the rules that src/store implements
// with SQLite.
#pragma once

#include <string>

#include "core/effect.h"
#include "core/model.h"

namespace assay::simulation {

// Everything stored, including every run there ever was with its ranks and outcomes.
struct Disk {
  core::Durable all;
};
void Apply(const core::Record& record, Disk* disk);

// The state to create a cluster from: open runs in full, and the newest closed run of each job
// without its parts and ranks.
core::Durable Load(const Disk& disk);
bool IsLoaded(const Disk& disk, const core::Run& run);

// The first difference between a cluster's state and the stored state; "" if there is none.
// Deadlines of open runs may have been extended to `judged_from` (the last start + resume_grace)
// without a record.
std::string Difference(const Disk& disk, const core::Durable& live, core::Ms judged_from);

}  // namespace assay::simulation
