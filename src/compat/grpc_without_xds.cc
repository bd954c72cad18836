// Leaves gRPC's service mesh client (xDS) out of the binary, which makes it 3 MB smaller. gRPC
// registers that client (resolvers, balancers, the upb code of its messages) in this one function,
// and gRPC's smaller build of the library also leaves it empty. Assay dials one address and never
// uses a mesh.
namespace grpc_core {

class CoreConfiguration {
 public:
  class Builder;
};

void RegisterExtraFilters(CoreConfiguration::Builder* builder);
void RegisterExtraFilters(CoreConfiguration::Builder*) {}

}  // namespace grpc_core
