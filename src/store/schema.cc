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

// After a release, a change of the statements needs a new version here and a Migration to it.
const Schema& StoreSchema() {
  static constexpr Schema kSchema{kStoreApplicationId, 1, kStoreSql, {}};
  return kSchema;
}

const Schema& SpoolSchema() {
  static constexpr Schema kSchema{kSpoolApplicationId, 1, kSpoolSql, {}};
  return kSchema;
}

}  // namespace assay::store
