// What our two databases are: their numbers, their versions, the statements that make them and the
// migrations that lead to them. The statements are in schema.sql and spool.sql, compiled in.
#pragma once

#include <cstdint>

#include "store/database_file.h"

namespace assay {

inline constexpr std::int32_t kStoreApplicationId = 0x41535341;  // "ASSA"
inline constexpr std::int32_t kSpoolApplicationId = 0x41535350;  // "ASSP"

const Schema& StoreSchema();  // the coordinator's
const Schema& SpoolSchema();  // the agent's

}  // namespace assay
