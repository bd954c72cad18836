// The one message a platform gets when a stress test ends: a sentence ClusterD's clients match on,
// then the results as JSON (docs/wire.md 4.1, 4.2 and 9; the JSON is ordered as Go's encoding/json
// orders maps: keys as text).
//
//   stress test finish, result:{"worker-1":{"0":{"rankResult":{"0":{"code":"0","result":"OK"}}}}}
//   stress test find fault, isolate node:map[worker-1:{}],result:{...}
//
// Pure.
#pragma once

#include <cstddef>
#include <string>

#include "core/model.h"

namespace assay {

// gRPC clients take 4 MiB by default; 64 KiB are left for the rest of the message.
inline constexpr std::size_t kResultBytesMax = (std::size_t{4} << 20) - (std::size_t{64} << 10);

// Of a run whose every outcome is known. A message that would exceed `max` keeps every rank that is
// not ok, leaves out ok ones and says how many before `result:`; if that is not enough, results'
// texts are cut, then left out.
std::string ResultText(const Run& run, std::size_t max = kResultBytesMax);

}  // namespace assay
