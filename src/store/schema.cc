#include "store/schema.h"

namespace assay {
namespace {

constexpr char kCreateSql[] =
#include "schema.sql.inc"
    ;

}  // namespace

const Schema& StoreSchema() {
  // A change of schema.sql after a release: the new version here, and a Migration with the
  // statements that lead to it.
  static constexpr Schema kSchema{kStoreApplicationId, kStoreVersion, kCreateSql, {}};
  return kSchema;
}

}  // namespace assay
