#include "control/signal_size.h"

#include <cstddef>

#include "control/ports.h"

namespace assay::control {
namespace {

constexpr std::size_t kHeaderBytes = 6;  // a field's tag and length, at most
// uuid, jobStatus, time, cmIndex, total, deleteTime and operator, with their headers, at most.
constexpr std::size_t kOtherBytes = 160;

}  // namespace

std::string MissingHcclWarning(const core::JobSpec& job, const std::string& hccl) {
  std::size_t bytes =
      Encoder::kListBytesOnce + Encoder::kListBytesEach + kOtherBytes + kHeaderBytes + hccl.size();
  for (const std::string* word : {&job.id, &job.name, &job.name_space, &job.framework,
                                  &job.master_addr, &job.shared_tor_ip}) {
    bytes += kHeaderBytes + word->size();
  }
  if (bytes <= kMessageBytesMax) return "";
  return "the job's signals omit HcclJson: with it a signal has " + std::to_string(bytes) +
         " bytes, and subscribers accept at most " + std::to_string(kMessageBytesMax) +
         "; they get the job's state, not its ranks";
}

}  // namespace assay::control
