#include "wire/clusterd_code.h"

#include <string>

namespace assay::wire {
namespace {

struct Numbers {
  int recover;
  int job;
  base::Code status;
};

Numbers NumbersOf(core::Verdict verdict) {
  using base::Code;
  switch (verdict) {
    case core::Verdict::kAccepted:
      return {0, 200, Code::kOk};
    case core::Verdict::kUnknownJob:
      return {402, 402, Code::kNotFound};
    case core::Verdict::kNotRegistered:
      return {400, 400, Code::kNotFound};
    case core::Verdict::kNoExecutor:
      return {404, 404, Code::kNotReady};
    case core::Verdict::kNotFound:
      return {404, 404, Code::kNotFound};
    case core::Verdict::kWrongState:
      return {404, 404, Code::kConflict};
    case core::Verdict::kBusy:
      return {411, 411, Code::kConflict};
    case core::Verdict::kBadParameter:
      return {413, 413, Code::kInvalid};
    case core::Verdict::kDenied:
      return {400, 400, Code::kDenied};
    case core::Verdict::kLimitReached:
      return {429, 429, Code::kExhausted};
  }
  return {413, 413, Code::kInternal};
}

}  // namespace

int RecoverCode(core::Verdict verdict) { return NumbersOf(verdict).recover; }
int JobCode(core::Verdict verdict) { return NumbersOf(verdict).job; }

base::Status StatusOf(core::Verdict verdict, std::string_view text) {
  if (verdict == core::Verdict::kAccepted) return base::Status::Ok();
  return {NumbersOf(verdict).status, std::string(text)};
}

base::Status AdminStatus(core::Verdict verdict, std::string_view text) {
  return StatusOf(verdict, std::to_string(RecoverCode(verdict)).append(" ").append(text));
}

}  // namespace assay::wire
