// Builds the message that a platform receives when a stress test ends: a sentence that ClusterD's
// clients match on, then the results as JSON (docs/wire.md 4.1, 4.2 and 9). The JSON is ordered as
// Go's encoding/json orders maps: by key as text.
//
//   stress test finish, result:{"worker-1":{"0":{"rankResult":{"0":{"code":"0","result":"OK"}}}}}
//   stress test find fault, isolate node:map[worker-1:{}],result:{...}
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <string>

#include "core/model.h"

namespace assay::core::cluster {

// gRPC clients accept 4 MiB by default; 64 KiB are left for the rest of the message.
inline constexpr std::size_t kResultBytesMax = (std::size_t{4} << 20) - (std::size_t{64} << 10);

// A message that would exceed `max` bytes omits the ranks that are ok, and has their number before
// `result:`. If it is still too long, the result texts of the other ranks are cut, then omitted;
// then the ranks listed in the sentence are limited, then the ranks in the JSON.
// REQUIRES: every outcome of the run is recorded.
std::string ResultText(const Run& run, std::size_t max = kResultBytesMax);

}  // namespace assay::core::cluster
