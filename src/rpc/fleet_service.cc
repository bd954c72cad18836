#include "rpc/fleet_service.h"

#include <utility>

#include "fleet.grpc.pb.h"
#include "rpc/agent_link.h"
#include "rpc/refuse.h"

namespace assay::rpc {
namespace {

class FleetService final
    : public fleet::Fleet::WithRawCallbackMethod_Attach<fleet::Fleet::Service> {
 public:
  FleetService(const Gate* gate, control::TaskThread* parser) : gate_(gate), parser_(parser) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    base::Result<Pass> pass = gate_->Enter(Call::kFleetAttach, context->peer(), 0);
    if (!pass.ok()) return RefuseLink(pass.status());
    return AgentLink::Open(gate_->intake(), std::move(*pass), parser_, context);
  }

 private:
  const Gate* const gate_;
  control::TaskThread* const parser_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(const Gate* gate, control::TaskThread* parser) {
  return std::make_unique<FleetService>(gate, parser);
}

}  // namespace assay::rpc
