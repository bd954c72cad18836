// Reads back what record_writer.h wrote.
#pragma once

#include "base/status.h"
#include "core/model.h"
#include "store/sqlite.h"

namespace assay {

// kInternal: a row cannot be what this program wrote; the text names it.
Result<Durable> LoadDurable(Database* database);

}  // namespace assay
