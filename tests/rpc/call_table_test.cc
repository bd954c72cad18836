#include "rpc/call_table.h"

#include <google/protobuf/descriptor.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "admin.pb.h"
#include "fleet.pb.h"
#include "job.pb.h"
#include "recover.pb.h"

namespace assay::rpc {
namespace {

// Every method of the four protos: "Recover/StressTest" -> its descriptor.
std::map<std::string, const google::protobuf::MethodDescriptor*> Methods() {
  std::map<std::string, const google::protobuf::MethodDescriptor*> methods;
  for (const google::protobuf::FileDescriptor* file :
       {StressTestParam::descriptor()->file(), job::ClientInfo::descriptor()->file(),
        fleet::AgentMessage::descriptor()->file(), admin::Job::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const google::protobuf::ServiceDescriptor* const service = file->service(s);
      for (int m = 0; m < service->method_count(); ++m) {
        methods[service->full_name() + "/" + service->method(m)->name()] = service->method(m);
      }
    }
  }
  return methods;
}

TEST_CASE("every method of the services has a row, and every row a method of its kind") {
  auto methods = Methods();
  CHECK(methods.size() == kCalls);
  for (const CallRow& row : CallRows()) {
    INFO(MethodName(row));
    CHECK(&RowOf(row.call) == &row);
    const auto found = methods.find(MethodName(row));
    REQUIRE(found != methods.end());
    const bool reads_stream = found->second->client_streaming();
    const bool writes_stream = found->second->server_streaming();
    CHECK(writes_stream == (row.kind == CallKind::kStream || row.kind == CallKind::kLink));
    CHECK(reads_stream == (row.kind == CallKind::kLink));
    CHECK(reads_stream == (row.size == RequestSize::kMessages));
    methods.erase(found);
  }
  for (const auto& [name, method] : methods) {
    INFO(name << " has no row in src/rpc/call_table.cc");
    CHECK(false);
  }
}

TEST_CASE("every call has a role; viewers may only make queries and follow the states of jobs") {
  for (const CallRow& row : CallRows()) {
    INFO(MethodName(row));
    int roles = 0;
    for (int i = 0; i < kRoles; ++i) roles += row.roles.Has(static_cast<Role>(i)) ? 1 : 0;
    CHECK(roles > 0);
    CHECK(row.roles.Has(Role::kViewer) ==
          (row.kind == CallKind::kQuery || row.service == "job.Job"));
  }
}

TEST_CASE("docs/calls.md contains the present table of calls") {
  std::ifstream file(ASSAY_DOCS "/calls.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  INFO("docs/calls.md must end with:\n" << CallTableMarkdown());
  CHECK(page.ends_with("\n" + CallTableMarkdown()));
}

}  // namespace
}  // namespace assay::rpc
