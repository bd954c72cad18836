// The coordinator's store as a plain value: what each record means to it, and what it gives back
// when the coordinator starts again. A second writing-down of the store's rules, beside SQLite's.
#pragma once

#include <string>

#include "core/effect.h"
#include "core/model.h"

namespace assay::simulation {

// Every run that ever was, with its ranks and outcomes, and whatever else is stored.
struct Disk {
  Durable all;
};
void Apply(const Record& record, Disk* disk);

// What a cluster is made from: open runs in full, closed ones as the newest of their job.
Durable Load(const Disk& disk);
bool IsLoaded(const Disk& disk, const Run& run);

// The first way in which a cluster's state is not what is stored; "": none. Deadlines of open runs
// may have been moved on to `judged_from` (the last start and resume_grace) without a record.
std::string Difference(const Disk& disk, const Durable& live, Ms judged_from);

}  // namespace assay::simulation
