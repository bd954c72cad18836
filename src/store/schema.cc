#include "store/schema.h"

namespace assay::store {
namespace {

constexpr char kStoreSql[] =
#include "store/schema.sql.inc"
    ;
constexpr char kSpoolSql[] =
#include "store/spool.sql.inc"
    ;

}  // namespace

// A change of the statements needs a new version here and a Migration to it.
const Schema& StoreSchema() {
  // Version 1 took the next run number from SQLite's own table of AUTOINCREMENT.
  static constexpr Migration kMigrations[] = {
      {1,
       "CREATE TABLE cluster (next_run INTEGER NOT NULL);"
       "INSERT INTO cluster"
       " SELECT ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'), 0) + 1"},
  };
  static constexpr Schema kSchema{kStoreApplicationId, 2, kStoreSql, kMigrations};
  return kSchema;
}

const Schema& SpoolSchema() {
  static constexpr Schema kSchema{kSpoolApplicationId, 1, kSpoolSql, {}};
  return kSchema;
}

}  // namespace assay::store
