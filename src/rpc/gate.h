// The gate that every call, stream and link of a client passes once, before anything else is done
// for it. The gate knows the call (call_table.h), determines the caller, and asks the intake for an
// admission. Certificates and roles will decide here.
//
//   base::Result<Pass> pass = gate->Enter(Call::kFleetAttach, context->peer(), 0);
//   if (!pass.ok()) return RefuseLink(pass.status());
//   return AgentLink::Open(gate->intake(), ..., std::move(*pass));
//
// Refusals, in the order of the checks:
//   kUnsupported  this version does not implement the call
//   kInvalid      the request is larger than such a request may be
//   kExhausted    a limit is reached: waiting queries, waiting items, bytes, calls, streams, links
//   kUnavailable  the coordinator is stopping
//
// gRPC's own services (health, reflection) do not pass it.
//
// Thread safety: Enter from any thread. Lifetime: outlives the services.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "control/intake.h"
#include "control/task_thread.h"
#include "core/event.h"
#include "rpc/call_table.h"

namespace assay::rpc {

// The result of admitting a call. The object of the call keeps the admission until its end.
struct Pass {
  core::Caller caller;  // without a role: only the message states it
  bool large = false;   // the request is above kLargeBytes
  control::Admission admission;
};

class Gate {
 public:
  // reader: runs the queries. The pointers outlive the gate.
  Gate(control::Intake* intake, const control::TaskThread* reader)
      : intake_(intake), reader_(reader) {}

  // peer: the address as gRPC writes it ("ipv4:127.0.0.1:5000"). request_bytes: of the request's
  // message; 0 for a link, whose messages come later.
  base::Result<Pass> Enter(Call call, std::string peer, std::size_t request_bytes) const;

  control::Intake* intake() const { return intake_; }

 private:
  control::Intake* const intake_;
  const control::TaskThread* const reader_;
};

// kLoopback if the peer's address, as gRPC writes it, is one of this machine's loopback addresses
// or a Unix socket; else kInsecure.
core::Transport TransportOf(std::string_view peer);

}  // namespace assay::rpc
