#include "base/memory.h"

#include <malloc.h>

// Defined only in programs that link mimalloc (src/compat).
extern "C" [[gnu::weak]] void mi_collect(bool force) noexcept;

namespace assay::base {

void ReturnFreedMemory() {
  if (mi_collect != nullptr) mi_collect(true);
  malloc_trim(0);
}

}  // namespace assay::base
