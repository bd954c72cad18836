#include "rpc/refuse.h"

#include "wire/grpc_status.h"

namespace assay::rpc {
namespace {

using grpc::ByteBuffer;

template <class Reactor>
class Refused final : public Reactor {
 public:
  explicit Refused(const base::Status& status) { this->Finish(wire::ToGrpc(status)); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerUnaryReactor* RefuseCall(const base::Status& status) {
  return new Refused<grpc::ServerUnaryReactor>(status);
}

grpc::ServerWriteReactor<ByteBuffer>* RefuseStream(const base::Status& status) {
  return new Refused<grpc::ServerWriteReactor<ByteBuffer>>(status);
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* RefuseLink(const base::Status& status) {
  return new Refused<grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>>(status);
}

}  // namespace assay::rpc
