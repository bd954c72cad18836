// The core's answer to a unary call. wire/clusterd_code.h has the numbers of the interfaces.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::core {

enum class Verdict : std::uint8_t {
  kAccepted,
  kUnknownJob,     // the job of a job command does not exist
  kNotRegistered,  // the job of a subscriber's reply does not exist
  kNoExecutor,     // no executor is ready for all ranks, or the rank table is not ready
  kNotFound,       // the run or node does not exist
  kWrongState,     // the run or node is in a state that does not allow it
  kBusy,           // a stress test does not allow it
  kBadParameter,   // the request is wrong and stays wrong
  kDenied,         // the client's role is not allowed
  kLimitReached,   // too many clients or subscriptions
};
inline constexpr int kVerdicts = 10;

constexpr std::string_view Name(Verdict verdict) {
  constexpr std::string_view kNames[kVerdicts] = {
      "accepted",    "unknown_job", "not_registered", "no_executor", "not_found",
      "wrong_state", "busy",        "bad_parameter",  "denied",      "limit_reached"};
  return kNames[static_cast<std::size_t>(verdict)];
}

// A verdict other than kAccepted, and the reason for the client.
struct Refusal {
  Verdict verdict = Verdict::kBadParameter;
  std::string text;
};

}  // namespace assay::core
