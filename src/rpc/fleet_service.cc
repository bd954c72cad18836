#include "rpc/fleet_service.h"

#include "fleet.grpc.pb.h"
#include "rpc/agent_link.h"
#include "wire/grpc_status.h"

namespace assay {
namespace {

class FleetService final
    : public fleet::Fleet::WithRawCallbackMethod_Attach<fleet::Fleet::Service> {
 public:
  FleetService(Intake* intake, Worker* parser) : intake_(intake), parser_(parser) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    if (Status status = intake_->Admit(Intake::Guest::kLink); !status.ok()) {
      return AgentLink::Refuse(ToGrpc(status));
    }
    return AgentLink::Open(intake_, parser_, context);
  }

 private:
  Intake* const intake_;
  Worker* const parser_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(Intake* intake, Worker* parser) {
  return std::make_unique<FleetService>(intake, parser);
}

}  // namespace assay
