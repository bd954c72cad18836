// The commands' connection to the coordinator: one channel, blocking calls with a deadline, errors
// with texts that tell the user what to do.
//
// Thread safety: none; the one thread of a command uses it.
#pragma once

#include <memory>
#include <string>

#include "admin.grpc.pb.h"
#include "base/host_port.h"
#include "base/status.h"
#include "cli/address.h"
#include "cli/flags/flags.h"

namespace assay::cli {

// Flags that every client command has.
struct ClientFlags {
  std::string coordinator = base::kCoordinatorAddress;
  bool json = false;
  // `json_help` is the help text of --json.
  void Declare(flags::Flags* flags, const std::string& json_help =
                                        "print one JSON document on standard output, nothing else");
};

// The largest request that a coordinator accepts, in bytes: 16 MiB less 64 KiB for gRPC framing.
inline constexpr std::size_t kRequestBytesMax = (std::size_t{16} << 20) - (std::size_t{64} << 10);

// Deadline of a call.
inline constexpr int kDeadlineSeconds = 60;

// Makes the channel of a command. `address` comes from CoordinatorAddress().
std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address);
// Converts the status of a failed call into an error for the user. Its text is the coordinator's
// own, or names the address that does not answer (kUnavailable).
base::Status ExplainCall(const std::string& address, const grpc::Status& status);

class Client {
 public:
  explicit Client(const std::string& coordinator);

  // `call` is a method of the stub, e.g. &admin::Admin::Stub::ListJobs.
  template <class Request, class Response>
  base::Result<Response> Call(grpc::Status (admin::Admin::Stub::*call)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                              const Request& request);

 private:
  static void Prepare(grpc::ClientContext* context);

  const std::string address_;
  std::unique_ptr<admin::Admin::Stub> stub_;
};

template <class Request, class Response>
base::Result<Response> Client::Call(grpc::Status (admin::Admin::Stub::*call)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                                    const Request& request) {
  grpc::ClientContext context;
  Prepare(&context);
  Response response;
  const grpc::Status status = (stub_.get()->*call)(&context, request, &response);
  if (!status.ok()) return ExplainCall(address_, status);
  return response;
}

}  // namespace assay::cli
