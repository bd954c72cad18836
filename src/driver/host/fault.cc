#include "driver/host/fault.h"

#include <optional>
#include <string>

#include "base/number.h"
#include "base/text.h"

namespace assay::driver::host {
namespace {

std::optional<FaultKind> KindFromName(std::string_view name, core::Op op) {
  if (name == "flip") return FaultKind::kFlip;
  if (name == "stuck") return FaultKind::kStuck;
  if (name == "source" && op == core::Op::kP2p) return FaultKind::kSource;
  if (name == "answer" && op == core::Op::kAic) return FaultKind::kAnswer;
  return std::nullopt;
}

}  // namespace

base::Result<Fault> ParseFault(std::string_view text) {
  if (text.empty()) return Fault();
  const base::Status error = base::InvalidError(
      "host fault '" + base::Printable(text, 60) +
      "': expected DEVICE:OP=KIND@ROUND, such as 1:aic=flip@3; kinds are flip, stuck, "
      "answer (aic) and source (p2p)");
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=');
  const std::size_t at = text.find('@');
  if (colon == std::string_view::npos || equals == std::string_view::npos ||
      at == std::string_view::npos || colon > equals || equals > at) {
    return error;
  }
  Fault fault;
  const auto op = core::OpFromName(text.substr(colon + 1, equals - colon - 1));
  const auto device = base::ParseNumber<decltype(fault.device)>(text.substr(0, colon));
  const auto round = base::ParseNumber<decltype(fault.round)>(text.substr(at + 1));
  if (!op || !device || *device < 0 || !round || *round < 0) return error;
  fault.device = *device;
  fault.round = *round;
  const auto kind = KindFromName(text.substr(equals + 1, at - equals - 1), *op);
  if (!kind) return error;
  fault.op = *op;
  fault.kind = *kind;
  return fault;
}

}  // namespace assay::driver::host
