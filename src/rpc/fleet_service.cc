#include "rpc/fleet_service.h"

#include "fleet.grpc.pb.h"
#include "rpc/agent_link.h"
#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

class FleetService final
    : public fleet::Fleet::WithRawCallbackMethod_Attach<fleet::Fleet::Service> {
 public:
  FleetService(control::Intake* intake, control::TaskThread* parser)
      : intake_(intake), parser_(parser) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    if (base::Status status = intake_->Admit(control::Intake::Guest::kLink); !status.ok()) {
      return AgentLink::Refuse(wire::ToGrpc(status));
    }
    return AgentLink::Open(intake_, parser_, context);
  }

 private:
  control::Intake* const intake_;
  control::TaskThread* const parser_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(control::Intake* intake,
                                                control::TaskThread* parser) {
  return std::make_unique<FleetService>(intake, parser);
}

}  // namespace assay::rpc
