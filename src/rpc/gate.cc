#include "rpc/gate.h"

#include <utility>

namespace assay::rpc {
namespace {

control::Admission::Kind AdmissionKind(CallKind kind) {
  switch (kind) {
    case CallKind::kStream:
      return control::Admission::Kind::kStream;
    case CallKind::kLink:
      return control::Admission::Kind::kLink;
    case CallKind::kQuery:
    case CallKind::kCommand:
    case CallKind::kOutcome:
      break;
  }
  return control::Admission::Kind::kCall;
}

// The name of a small request in the text of its refusal; "": the request may be large.
std::string_view SmallRequest(RequestSize size) {
  switch (size) {
    case RequestSize::kQuery:
      return "a query";
    case RequestSize::kSubscription:
      return "a subscription";
    case RequestSize::kClient:
      return "a role and an id";
    case RequestSize::kLarge:
    case RequestSize::kMessages:
      break;
  }
  return "";
}

base::Status CheckSize(RequestSize size, std::size_t bytes) {
  const std::string_view small = SmallRequest(size);
  if (small.empty() || bytes <= kSmallBytesMax) return base::Status::Ok();
  return base::InvalidError("the request has " + std::to_string(bytes) + " bytes; " +
                            std::string(small) + " may have at most " +
                            std::to_string(kSmallBytesMax));
}

}  // namespace

core::Transport TransportOf(std::string_view peer) {
  // gRPC 1.51 escapes the brackets of an IPv6 address; earlier and later versions do not.
  for (const std::string_view loopback : {"ipv4:127.", "ipv6:[::1]:", "ipv6:%5B::1%5D:",
                                          "ipv6:[::ffff:127.", "ipv6:%5B::ffff:127.", "unix:"}) {
    if (peer.starts_with(loopback)) return core::Transport::kLoopback;
  }
  return core::Transport::kInsecure;
}

base::Result<Pass> Gate::Enter(Call call, std::string peer, std::size_t request_bytes) const {
  const CallRow& row = RowOf(call);
  if (!row.implemented) {
    return base::UnsupportedError("this version of Assay does not implement " + MethodName(row));
  }
  if (base::Status status = CheckSize(row.size, request_bytes); !status.ok()) return status;
  if (row.kind == CallKind::kQuery && reader_->Depth() >= kQueriesMax) {
    return base::ExhaustedError("too many queries are waiting (limit " +
                                std::to_string(kQueriesMax) + "); try again");
  }
  Pass pass;
  pass.large = request_bytes > kLargeBytes;
  base::Result<control::Admission> admission =
      intake_->Admit({.kind = AdmissionKind(row.kind),
                      .command = row.kind == CallKind::kCommand,
                      .large_bytes = pass.large ? request_bytes : 0,
                      .outcomes = row.kind == CallKind::kOutcome});
  if (!admission.ok()) return admission.status();
  pass.admission = std::move(*admission);
  pass.caller.transport = TransportOf(peer);
  pass.caller.who = std::move(peer);
  return pass;
}

}  // namespace assay::rpc
