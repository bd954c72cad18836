#include "store/schema.h"

namespace assay {
namespace {

constexpr char kStoreSql[] =
#include "store/schema.sql.inc"
    ;
constexpr char kSpoolSql[] =
#include "store/spool.sql.inc"
    ;

}  // namespace

// A change of the statements after a release needs a new version here and a Migration with the
// statements that lead to it.
const Schema& StoreSchema() {
  static constexpr Schema kSchema{kStoreApplicationId, 1, kStoreSql, {}};
  return kSchema;
}

const Schema& SpoolSchema() {
  static constexpr Schema kSchema{kSpoolApplicationId, 1, kSpoolSql, {}};
  return kSchema;
}

}  // namespace assay
