// Loads what RecordWriter (record_writer.h) wrote.
#pragma once

#include "base/status.h"
#include "core/model.h"
#include "store/sqlite.h"

namespace assay::store {

// kInternal: a row is not one that this program writes; the text names it.
base::Result<core::Durable> LoadDurable(Database* database);

}  // namespace assay::store
