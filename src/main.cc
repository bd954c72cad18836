#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <cstring>
#include <iostream>
#include <string>

#include "base/version.h"
#include "recover.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::cout << "assay " << assay::Version() << '\n';
    return 0;
  }
  std::string listen = argc == 2 ? argv[1] : "127.0.0.1:0";
  // A static link drops what registers itself: reflection is initialised by hand.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::EnableDefaultHealthCheckService(true);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  Recover::CallbackService recover;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&recover);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "assay: cannot listen on " << listen << '\n';
    return 1;
  }
  std::cout << "listening on port " << port << std::endl;
  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown();
  return 0;
}
