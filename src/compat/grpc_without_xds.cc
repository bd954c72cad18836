// gRPC registers its service mesh client (xDS: resolvers, balancers, the upb code of its messages)
// in this one function, which its smaller flavour of the library leaves empty just so. Assay dials
// one address and never a mesh; without it the binary is 3 MB smaller.
namespace grpc_core {

class CoreConfiguration {
 public:
  class Builder;
};

void RegisterExtraFilters(CoreConfiguration::Builder* builder);
void RegisterExtraFilters(CoreConfiguration::Builder*) {}

}  // namespace grpc_core
