// The schemas of the coordinator's and the agent's database: application id, version, the
// statements that create the version and the migrations to it. The statements are compiled in from
// schema.sql and spool.sql.
#pragma once

#include <cstdint>

#include "store/database_file.h"

namespace assay::store {

inline constexpr std::int32_t kStoreApplicationId = 0x41535341;  // "ASSA"
inline constexpr std::int32_t kSpoolApplicationId = 0x41535350;  // "ASSP"

const Schema& StoreSchema();  // the coordinator's
const Schema& SpoolSchema();  // the agent's

}  // namespace assay::store
