// Loads what Spool (spool.h) wrote.
#pragma once

#include "base/status.h"
#include "core/node/supervisor.h"
#include "store/sqlite.h"

namespace assay::store {

// kInternal: a row is not one that this program writes; the text names it.
base::Result<core::node::Spooled> LoadSpooled(Database* database);

}  // namespace assay::store
