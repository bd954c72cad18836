// What the coordinator's database is: its number, its version, the statements that make it and the
// migrations that lead to it. The statements are in schema.sql, compiled in.
#pragma once

#include "store/database_file.h"

namespace assay {

inline constexpr std::int32_t kStoreApplicationId = 0x41535341;  // "ASSA"
inline constexpr int kStoreVersion = 1;

const Schema& StoreSchema();

}  // namespace assay
